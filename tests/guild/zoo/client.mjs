// Is what the hall says well-formed to a client that checks every field? Lists its tools and calls some of them.
// Arguments: the directory of the TypeScript SDK, the calls as JSON ([name, arguments] each), the command that serves, or
// the address of a hall that listens.
// Prints {"tools": [...], "results": [...]}.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, calls, command, ...args] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(sdk, "dist", "esm", "client", file)).href);
const { Client } = await load("index.js");
const { StdioClientTransport } = await load("stdio.js");
const { StreamableHTTPClientTransport } = await load("streamableHttp.js");

const client = new Client({ name: "typescript", version: "1" });
const isAddress = command.startsWith("http://");
await client.connect(
  isAddress ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args }),
);
const { tools } = await client.listTools();
const results = [];
for (const [name, given] of JSON.parse(calls)) {
  results.push(await client.callTool({ name, arguments: given }));
}
await client.close();
console.log(JSON.stringify({ tools, results }));
