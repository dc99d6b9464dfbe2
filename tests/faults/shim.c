/* Faults for a real process: every change of a file below one folder passes here first.
 *
 * Loaded with LD_PRELOAD, and idle until armed.  Armed, it numbers the changes that are made (create,
 * write, truncate, sync, rename, unlink, mkdir) from 1, and
 *   - writes each down, with its bytes, once it is done;
 *   - kills the process at one of them: before it, amid it, or after it;
 *   - or lets the system refuse them with an error from one of them on;
 *   - and adds an offset, which another process may change at any time, to the system's clock.
 * SQLite's shared memory (-shm) is left out: it is made anew after a crash.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR };
enum { NEVER = 0, BEFORE, TORN, AFTER, FAIL };

static pthread_mutex_t order = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[4096];
static size_t root_length;
static long number, fault_at;
static int mode, error_number, log_handle = -1;
static volatile const int64_t *offset_ns;

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void ameles_arm(const char *folder, long at, int how, int error, const char *log,
                const char *clock) {
    number = 0;
    fault_at = at;
    mode = how;
    error_number = error;
    if (log[0])
        log_handle = (int)syscall(SYS_openat, AT_FDCWD, log,
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (clock[0]) {
        int handle = (int)syscall(SYS_openat, AT_FDCWD, clock, O_RDONLY | O_CLOEXEC, 0);
        void *found = mmap(NULL, 8, PROT_READ, MAP_SHARED, handle, 0);
        if (found != MAP_FAILED) offset_ns = found;
        syscall(SYS_close, handle);
    }
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
}

/* The path below the root, or NULL if the file is none of ours. */
static const char *below(const char *path) {
    size_t length = strlen(path);
    if (!root_length || strncmp(path, root, root_length) || path[root_length] != '/') {
        return !strcmp(path, root) && root_length ? "" : NULL;
    }
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return NULL;
    return path + root_length + 1;
}

static const char *of_handle(int handle, char *buffer) {
    char link[64];
    if (!root_length) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, 4095);
    if (length <= 0) return NULL;
    buffer[length] = 0;
    return below(buffer);
}

static const char *of_path(int folder, const char *path, char *buffer) {
    if (!root_length) return NULL;
    if (path[0] == '/') {
        snprintf(buffer, 4096, "%s", path);
    } else if (folder == AT_FDCWD) {
        char here[2048];
        if (!getcwd(here, sizeof here)) return NULL;
        snprintf(buffer, 4096, "%s/%s", here, path);
    } else {
        char there[4096];
        const char *found = of_handle(folder, there);
        if (!found) return NULL;
        snprintf(buffer, 4096, "%s/%s", there, path);
    }
    return below(buffer);
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* In one piece, because others write there too. */
static void note(int kind, const char *path, const char *other, int64_t offset, const void *data,
                 size_t size) {
    if (log_handle < 0) return;
    struct __attribute__((packed)) {
        uint8_t kind;
        uint16_t path, other;
        int64_t offset;
        uint64_t size;
    } head = {(uint8_t)kind, (uint16_t)strlen(path), (uint16_t)strlen(other), offset, size};
    struct iovec parts[4] = {{&head, sizeof head},
                             {(void *)path, head.path},
                             {(void *)other, head.other},
                             {(void *)data, data ? size : 0}};
    syscall(SYS_writev, log_handle, parts, 4);
}

/* What to do at this change; the caller holds the lock.  Ends the process for BEFORE. */
static int now_is(void) {
    number++;
    if (mode == FAIL) return number >= fault_at ? FAIL : NEVER;
    if (number != fault_at) return NEVER;
    if (mode == BEFORE) die();
    return mode;
}

#define CHANGE(path, call, noting, failing)                                                        \
    do {                                                                                           \
        pthread_mutex_lock(&order);                                                                \
        int fault = now_is();                                                                      \
        if (fault == FAIL && (failing)) {                                                          \
            pthread_mutex_unlock(&order);                                                          \
            errno = error_number;                                                                  \
            return -1;                                                                             \
        }                                                                                          \
        int done = (call);                                                                         \
        int kept = errno;                                                                          \
        if (done >= 0) {                                                                           \
            noting;                                                                                \
            if (fault == AFTER || fault == TORN) die();                                            \
        } else if (fault != FAIL) {                                                                \
            number--;                                                                              \
        }                                                                                          \
        pthread_mutex_unlock(&order);                                                              \
        errno = kept;                                                                              \
        return done;                                                                               \
    } while (0)

static ssize_t writing(int handle, const void *data, size_t size, off_t offset, int placed) {
    char buffer[4096];
    const char *path = size ? of_handle(handle, buffer) : NULL;
    long call = placed ? SYS_pwrite64 : SYS_write;
    if (!path) return syscall(call, handle, data, size, offset);
    pthread_mutex_lock(&order);
    int fault = now_is();
    if (fault == FAIL) {
        /* A full disk takes a part of the first write. */
        if (number == fault_at && size > 1 && error_number == ENOSPC) {
            size /= 2;
        } else {
            pthread_mutex_unlock(&order);
            errno = error_number;
            return -1;
        }
    }
    if (!placed) {
        int flags = fcntl(handle, F_GETFL);
        offset = lseek(handle, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    }
    if (fault == TORN) size /= 2;
    ssize_t done = syscall(call, handle, data, size, offset);
    int kept = errno;
    if (done > 0) note(WRITE, path, "", offset, data, (size_t)done);
    else if (fault == NEVER) number--;
    if (fault == TORN || fault == AFTER) die();
    pthread_mutex_unlock(&order);
    errno = kept;
    return done;
}

ssize_t write(int handle, const void *data, size_t size) {
    return writing(handle, data, size, 0, 0);
}
ssize_t pwrite(int handle, const void *data, size_t size, off_t offset) {
    return writing(handle, data, size, offset, 1);
}
ssize_t pwrite64(int handle, const void *data, size_t size, off64_t offset) {
    return writing(handle, data, size, offset, 1);
}

static int truncating(int handle, off_t length) {
    char buffer[4096];
    const char *path = of_handle(handle, buffer);
    if (!path) return (int)syscall(SYS_ftruncate, handle, length);
    CHANGE(path, (int)syscall(SYS_ftruncate, handle, length),
           note(TRUNCATE, path, "", length, NULL, 0), error_number != ENOSPC);
}
int ftruncate(int handle, off_t length) { return truncating(handle, length); }
int ftruncate64(int handle, off64_t length) { return truncating(handle, length); }

static int syncing(int handle, long call) {
    char buffer[4096];
    const char *path = of_handle(handle, buffer);
    if (!path) return (int)syscall(call, handle);
    CHANGE(path, (int)syscall(call, handle), note(SYNC, path, "", 0, NULL, 0),
           error_number != ENOSPC);
}
int fsync(int handle) { return syncing(handle, SYS_fsync); }
int fdatasync(int handle) { return syncing(handle, SYS_fdatasync); }

int renameat(int from, const char *old, int to, const char *new) {
    char one[4096], two[4096];
    const char *first = of_path(from, old, one), *second = of_path(to, new, two);
    if (!first || !second) return (int)syscall(SYS_renameat2, from, old, to, new, 0);
    CHANGE(first, (int)syscall(SYS_renameat2, from, old, to, new, 0),
           note(RENAME, first, second, 0, NULL, 0), 1);
}
int rename(const char *old, const char *new) { return renameat(AT_FDCWD, old, AT_FDCWD, new); }

int unlinkat(int folder, const char *name, int flags) {
    char buffer[4096];
    const char *path = of_path(folder, name, buffer);
    if (!path) return (int)syscall(SYS_unlinkat, folder, name, flags);
    CHANGE(path, (int)syscall(SYS_unlinkat, folder, name, flags),
           note(UNLINK, path, "", 0, NULL, 0), error_number != ENOSPC);
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int mkdirat(int folder, const char *name, mode_t bits) {
    char buffer[4096];
    const char *path = of_path(folder, name, buffer);
    if (!path) return (int)syscall(SYS_mkdirat, folder, name, bits);
    CHANGE(path, (int)syscall(SYS_mkdirat, folder, name, bits),
           note(MKDIR, path, "", 0, NULL, 0), 1);
}
int mkdir(const char *name, mode_t bits) { return mkdirat(AT_FDCWD, name, bits); }

static int opening(int folder, const char *name, int flags, mode_t bits) {
    char buffer[4096];
    struct stat found;
    const char *path = flags & (O_CREAT | O_TRUNC) ? of_path(folder, name, buffer) : NULL;
    if (!path) return (int)syscall(SYS_openat, folder, name, flags, bits);
    int there = syscall(SYS_newfstatat, folder, name, &found, 0) == 0;
    int creates = !there && flags & O_CREAT, cuts = there && flags & O_TRUNC && found.st_size;
    if (!creates && !cuts) return (int)syscall(SYS_openat, folder, name, flags, bits);
    CHANGE(path, (int)syscall(SYS_openat, folder, name, flags, bits),
           note(creates ? CREATE : TRUNCATE, path, "", 0, NULL, 0),
           creates || error_number != ENOSPC);
}

#define OPENING(name)                                                                              \
    int name(const char *path, int flags, ...) {                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t bits = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        return opening(AT_FDCWD, path, flags, bits);                                               \
    }
#define OPENING_AT(name)                                                                           \
    int name(int folder, const char *path, int flags, ...) {                                       \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t bits = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        return opening(folder, path, flags, bits);                                                 \
    }
OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)

int clock_gettime(clockid_t which, struct timespec *found) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int done = real(which, found);
    if (done == 0 && which == CLOCK_REALTIME && offset_ns) {
        int64_t at = (int64_t)found->tv_sec * 1000000000 + found->tv_nsec + *offset_ns;
        found->tv_sec = at / 1000000000;
        found->tv_nsec = at % 1000000000;
    }
    return done;
}
