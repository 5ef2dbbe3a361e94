// What hostile clients share: the servers, and sockets that send bytes and take their time.

/** Ports of the servers on this machine; those that are not there get no attacks. */
export interface Targets {
  /** The command `serve`, with the models `mlp` and `loop`. */
  readonly serve: number;
  /** A `Server`. */
  readonly server: number;
  readonly dispatcher: number;
  readonly worker: number;
}

/** One attack. It may reject, and gives up where the signal says so. */
export type Attack = (targets: Targets, signal: AbortSignal) => Promise<unknown>;

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

/** Options of {@linkcode send}. */
interface SendOptions {
  readonly signal: AbortSignal;
  /** Milliseconds after each part. */
  readonly pauseMs?: number;
  /** Milliseconds after the last one. */
  readonly stayMs?: number;
}

/** Sends parts to a port, reads whatever comes, and closes. */
export async function send(
  port: number,
  parts: Iterable<Uint8Array>,
  { signal, pauseMs = 0, stayMs = 500 }: SendOptions,
): Promise<void> {
  using socket = await Deno.connect({ hostname: "127.0.0.1", port });
  const buffer = new Uint8Array(65_536), over = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => over.resolve());
  void (async () => {
    while (await socket.read(buffer).catch(() => null) !== null);
    over.resolve();
  })();
  const sent = (async () => {
    for (const part of parts) {
      for (let at = 0; at < part.length;) at += await socket.write(part.subarray(at));
      if (pauseMs > 0) await sleep(pauseMs, signal);
      if (signal.aborted) return;
    }
    await sleep(stayMs, signal);
  })().catch(() => {});
  await Promise.race([sent, over.promise]);
}

/** Sends from many sockets at once. */
export async function sendFromMany(
  count: number,
  one: (i: number) => Promise<void>,
): Promise<void> {
  await Promise.allSettled(Array.from({ length: count }, (_, i) => one(i)));
}
