// The SDK's client signs in: node oauth.mjs BASE NODE_MODULES. It prints `open URL` for the person, and reads where that led.

import { createInterface } from "node:readline/promises";
import { pathToFileURL } from "node:url";

const [base, modules] = process.argv.slice(2);
const sdk = await import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/index.mjs`));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = sdk;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const callback = "http://127.0.0.1:33419/callback";
const kept = {};
let led;
const provider = {
  redirectUrl: callback,
  clientMetadata: {
    client_name: "TypeScript",
    redirect_uris: [callback],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => { kept.state = state; },
  discoveryState: () => kept.state,
  redirectToAuthorization: async (url) => {
    console.log(`open ${url}`);
    led = new URL((await lines.next()).value);
  },
};

const transport = () => new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: provider });

async function search() {
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(transport());
  const found = await client.callTool({ name: "search", arguments: { query: "berth" } });
  if (found.isError || !found.structuredContent.results.length) throw new Error(JSON.stringify(found));
  await client.close();
}

// Without a token it is refused, finds the server, registers, and leads the person there.
const first = transport();
try {
  await new Client({ name: "typescript", version: "1" }).connect(first);
  throw new Error("let in without a token");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
await first.finishAuth(led.searchParams);
await search();

// With a token that is not taken it refreshes by itself.
const before = kept.tokens;
kept.tokens = { ...before, access_token: "no.such.token" };
led = undefined;
await search();
if (led || kept.tokens.refresh_token === before.refresh_token) throw new Error("it did not refresh");

const form = (fields) => ({ method: "POST", body: new URLSearchParams(fields) });
const client_id = kept.client.client_id;
const token = kept.tokens.refresh_token;
await fetch(`${base}/oauth/revoke`, form({ client_id, token }));
const refused = await fetch(`${base}/oauth/token`, form({ grant_type: "refresh_token", client_id, refresh_token: token }));
if (refused.status !== 400 || (await refused.json()).error !== "invalid_grant") throw new Error("it lives on");
console.log("done");
process.exit(0);
