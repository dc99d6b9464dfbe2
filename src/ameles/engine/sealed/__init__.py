"""Pan-private streams: their state may be seized, and lives in the vault."""
