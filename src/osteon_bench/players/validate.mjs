// Runs the Khronos glTF validator on many files in one process.
// Standard input: a JSON list of paths. Standard output: a JSON list of reports in the same order.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const packages = process.argv[2];
const validator = createRequire(join(packages, "any.js"))("gltf-validator");

async function report(path) {
  const options = {
    uri: path,
    maxIssues: 1000,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(path), decodeURIComponent(uri)))),
  };
  const found = await validator.validateBytes(new Uint8Array(readFileSync(path)), options);
  return found.issues.messages;
}

const reports = [];
for (const path of JSON.parse(readFileSync(0, "utf8"))) reports.push(await report(path));
process.stdout.write(JSON.stringify(reports));
