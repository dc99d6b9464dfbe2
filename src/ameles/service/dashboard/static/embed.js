// One chart of a public stream, for pages of other sites; it never sends a token.

import { readAddress } from "./address.js";
import { Api } from "./api.js";
import { showStream } from "./stream.js";

showStream(new Api({ anonymous: true }), document.getElementById("main"), readAddress(), { embedded: true });
