/**
 * A process that commits as fast as it can until it is killed: `writer.js FILE ACCOUNT`. It prints the number of each
 * acknowledged commit.
 */

import { writeSync } from "node:fs";
import process from "node:process";

import { SqliteStorage } from "../npm/storage/sqlite.js";
import { writeForEver } from "./witness.js";

const [file, account] = process.argv.slice(2);
await writeForEver(new SqliteStorage(file), Number(account), (number) => writeSync(1, `${number}\n`));
