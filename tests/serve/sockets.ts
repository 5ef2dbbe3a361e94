/** Sockets that say what they are told, and return what comes. */

export const HOST = "127.0.0.1";

/** Sends a text, and returns all that comes until the other end closes. */
export async function say(
  port: number,
  ...parts: readonly (string | Uint8Array)[]
): Promise<string> {
  using socket = await Deno.connect({ hostname: HOST, port });
  for (const part of parts) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    try {
      for (let at = 0; at < bytes.length;) at += await socket.write(bytes.subarray(at));
    } catch {
      // The other end refused it before it had read all, and says why.
      break;
    }
  }
  let said = "";
  const buffer = new Uint8Array(65_536), text = new TextDecoder();
  for (let n; (n = await socket.read(buffer).catch(() => null)) !== null;) {
    said += text.decode(buffer.subarray(0, n), { stream: true });
  }
  return said;
}
