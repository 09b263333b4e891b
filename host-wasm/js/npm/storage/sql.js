/**
 * SQL statements for the map in a SQLite table. Used by the storages over SQLite only.
 */

export const CREATE_ROWS = "CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";

export const GET = "SELECT value FROM rows WHERE key = ?";
// An empty array may be bound as NULL.
const SCAN = "SELECT key, value FROM rows WHERE key >= coalesce(?, x'') AND key < ? ORDER BY key";
export const ASCENDING = `${SCAN} LIMIT ?`;
export const DESCENDING = `${SCAN} DESC LIMIT ?`;

export const PUT = "INSERT OR REPLACE INTO rows VALUES (?, coalesce(?, x''))";
export const DELETE = "DELETE FROM rows WHERE key = ?";
