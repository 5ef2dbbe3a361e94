/** Certificates of servers and of callers: what is taken, and what is refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import {
  DataServiceDispatcher,
  DataServiceWorker,
  grpcTransport,
  remoteTarget,
  Server,
  type TlsOptions,
} from "@weft/weft/distribute";
import { freePort } from "../server/cluster.ts";

const { errors } = tf;
const HOST = { host: "127.0.0.1", port: 0 };

/** A file of fixtures/tls/, which make_certificates.sh writes. */
function pem(name: string): string {
  return Deno.readTextFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
}

const key = pem("server.key"), ca = pem("ca.pem");
const SERVER: TlsOptions = { cert: pem("server.pem"), key };
const ASKS: TlsOptions = { ...SERVER, ca };
const TRUSTS: TlsOptions = { ca };

/** Returns a server's echo to a caller. */
async function echoed(
  server: TlsOptions | undefined,
  caller: TlsOptions | undefined,
): Promise<number> {
  const listener = await grpcTransport.listen(
    HOST,
    (_, request) => Promise.resolve([request]),
    server && { tls: server },
  );
  const channel = grpcTransport.connect(listener.address, caller && { tls: caller });
  try {
    return (await channel.call("/a", new Uint8Array(1_000_000), { timeoutMs: 20_000 })).length;
  } finally {
    channel.close();
    await listener.close();
  }
}

const TAKEN: Readonly<Record<string, readonly [TlsOptions, TlsOptions]>> = {
  "a server whose authority is trusted": [SERVER, TRUSTS],
  "a caller whose authority is trusted": [ASKS, { ca, cert: pem("client.pem"), key }],
};
for (const [name, [server, caller]] of Object.entries(TAKEN)) {
  Deno.test(`a call over TLS reaches ${name}`, async () => {
    assertEquals(await echoed(server, caller), 1_000_000);
  });
}

const REFUSED: Readonly<
  Record<string, readonly [TlsOptions | undefined, TlsOptions | undefined, string]>
> = {
  "an authority that the platform does not know": [SERVER, {}, "certificate"],
  "another authority": [SERVER, { ca: pem("other_ca.pem") }, "certificate"],
  "a certificate that has expired": [{ cert: pem("expired.pem"), key }, TRUSTS, "expired"],
  "a certificate of another host": [{ cert: pem("elsewhere.pem"), key }, TRUSTS, "altnames"],
  "a server without TLS": [undefined, TRUSTS, "as by a server without TLS"],
  "a caller without TLS": [SERVER, undefined, "as by a server that wants TLS"],
  "a caller without a certificate": [ASKS, TRUSTS, "ertificate"],
  "a caller of another authority": [ASKS, { ca, cert: pem("other_client.pem"), key }, "ertificate"],
};
for (const [name, [server, caller, text]] of Object.entries(REFUSED)) {
  Deno.test(`a call over TLS is refused by ${name}`, async () => {
    await assertRejects(() => echoed(server, caller), errors.UnavailableError, text);
  });
}

Deno.test("a server over TLS must have a certificate", async () => {
  await assertRejects(async () => await echoed(TRUSTS, TRUSTS), errors.ValueError, "cert and key");
});

Deno.test("a whole data service runs over TLS with a secret, and nobody joins it without", async () => {
  const guarded = { tls: ASKS, secret: "open sesame" };
  await using dispatcher = new DataServiceDispatcher(guarded);
  await dispatcher.start();
  const options = { dispatcher: dispatcher.target, heartbeatMs: 20 };
  await using worker = new DataServiceWorker({ ...options, ...guarded });
  await worker.start();
  const service = { service: dispatcher.target, heartbeatMs: 20 };
  const numbers = tf.data.range(5);
  const seen = numbers.distribute({ ...service, ...guarded });
  assertEquals(await Array.fromAsync(seen.asNumpyIterator(), (x) => x.item()), [0, 1, 2, 3, 4]);

  for (const secret of ["open", undefined]) {
    const wrong = { tls: ASKS, ...(secret === undefined ? {} : { secret }) };
    await assertRejects(
      () => new DataServiceWorker({ ...options, ...wrong }).start(),
      errors.UnauthenticatedError,
      "shared secret",
    );
    await assertRejects(
      () => numbers.distribute({ ...service, ...wrong }).toArray(),
      errors.UnauthenticatedError,
      "shared secret",
    );
  }
  const { secret } = guarded, plain = { dispatcher: dispatcher.target.replace("grpcs", "grpc") };
  const start = (more: object) => new DataServiceWorker({ ...options, secret, ...more }).start();
  await assertRejects(() => start({}), errors.ValueError, "cert and key");
  await assertRejects(() => start(plain), errors.UnavailableError, "wants TLS");
});

Deno.test("tasks of a cluster reach each other over TLS, and so do sessions", async () => {
  const guarded = { tls: ASKS, secret: "open sesame" },
    ports = [await freePort(grpcTransport), await freePort(grpcTransport)];
  const cluster = { worker: [`127.0.0.1:${ports[0]}`], ps: [`127.0.0.1:${ports[1]}`] };
  await using worker = new Server({ cluster, job: "worker", ...guarded });
  await using ps = new Server({ cluster, job: "ps", ...guarded });
  await worker.start();
  await ps.start();
  assertEquals(worker.target, `grpcs://${cluster.worker[0]}`);
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const x = tf.device("/job:ps/task:0", () => tf.add(tf.placeholder("float32", [], "x"), 1));
    return tf.device("/job:worker/task:0", () => tf.mul(x, 2));
  });
  const run = async (target: string | tf.SessionTarget): Promise<unknown> => {
    await using session = new tf.Session({ graph, target });
    return await session.run(y, { feeds: { "x:0": 3 } });
  };
  assertEquals(await run(remoteTarget(worker.target, guarded)), 8);
  const refused: readonly (readonly [string | tf.SessionTarget, string])[] = [
    // The platform does not know the issuer.
    [worker.target, "certificate"],
    [worker.target.replace("grpcs", "grpc"), "wants TLS"],
    [remoteTarget(worker.target, { ...guarded, tls: TRUSTS }), "ertificate"],
  ];
  for (const [target, text] of refused) {
    await assertRejects(() => run(target), errors.UnavailableError, text);
  }
  const { tls } = guarded;
  await assertRejects(
    () => run(remoteTarget(worker.target, { tls })),
    errors.UnauthenticatedError,
    "shared secret",
  );
});

Deno.test("grpcs:// trusts the authorities of the platform", async () => {
  await using server = new Server({ cluster: { worker: ["127.0.0.1:0"] }, tls: SERVER });
  await server.start();
  const ca = new URL("../fixtures/tls/ca.pem", import.meta.url).pathname;
  const program = `
    import * as tf from "@weft/weft";
    import "@weft/weft/distribute";
    const graph = new tf.Graph(), y = graph.asDefault(() => tf.add(tf.constant(1), 2));
    await using session = new tf.Session({ graph, target: "${server.target}" });
    console.log(await session.run(y));`;
  const map = new URL("../../npm_only/import_map.json", import.meta.url).href;
  const flags = ["--no-lock", "--no-check", "--import-map", map, `--cert=${ca}`, "--ext=ts"];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", ...flags, program],
    env: { WEFT_DEVICE: "cpu" },
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  assertEquals(text(stdout).trim(), "3", text(stderr));
});
