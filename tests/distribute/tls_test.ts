/** Certificates of servers and of callers: what is taken, and what is refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import {
  DataServiceDispatcher,
  DataServiceWorker,
  grpcTransport,
  type TlsOptions,
} from "@weft/weft/distribute";

const { errors } = tf;
const HOST = { host: "127.0.0.1", port: 0 };

/** A file of fixtures/tls/, which make_certificates.sh writes. */
function pem(name: string): string {
  return Deno.readTextFileSync(new URL(`fixtures/tls/${name}`, import.meta.url));
}

const key = pem("server.key"), ca = pem("ca.pem");
const SERVER: TlsOptions = { cert: pem("server.pem"), key };
const ASKS: TlsOptions = { ...SERVER, ca };
const TRUSTS: TlsOptions = { ca };

/** What comes back from a server to a caller. */
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
  "a server without TLS": [undefined, TRUSTS, "Cannot reach"],
  "a caller without TLS": [SERVER, undefined, "Cannot reach"],
  "a caller without a certificate": [ASKS, TRUSTS, "Cannot reach"],
  "a caller of another authority": [
    ASKS,
    { ca, cert: pem("other_client.pem"), key },
    "Cannot reach",
  ],
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

  for (const secret of ["", "open", undefined]) {
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
  await assertRejects(
    () => new DataServiceWorker({ ...options, secret: guarded.secret }).start(),
    errors.UnavailableError,
  );
});
