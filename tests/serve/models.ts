/** Models that the tests of serving call, and how they ask. */
import * as tf from "@weft/weft";

/** Squares rows, and says how often it ran. */
export function square(): { f: tf.TracedFunction<[tf.Tensor], { y: tf.Tensor }>; runs: number[] } {
  const runs: number[] = [];
  const f = tf.function((x: tf.Tensor) => {
    const seen = tf.numpyFunction(
      (a: tf.NdArray) => {
        runs.push(a.shape[0]);
        return a;
      },
      [x],
      "float32",
    ) as tf.Tensor;
    seen.setShape([null, 2]);
    return { y: tf.square(seen) };
  }, { inputSignature: [tf.TensorSpec([null, 2], "float32", "x")] });
  return { f, runs };
}

/** A model with inputs of several dtypes. */
export function several(): tf.TracedFunction<
  [tf.Tensor, tf.Tensor, tf.Tensor],
  { text: tf.Tensor; sum: tf.Tensor; flag: tf.Tensor }
> {
  return tf.function((text: tf.Tensor, n: tf.Tensor, flag: tf.Tensor) => ({
    text: tf.identity(text),
    sum: tf.add(n, n),
    flag: tf.logicalNot(flag),
  }), {
    inputSignature: [
      tf.TensorSpec([null], "string", "text"),
      tf.TensorSpec([null], "int64", "n"),
      tf.TensorSpec([null], "bool", "flag"),
    ],
  });
}

/** Asks a handler; a body that is no text or bytes is sent as JSON. */
export function ask(
  fetch: (request: Request) => Promise<Response>,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  return fetch(
    new Request(`http://localhost${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers,
      ...(signal && { signal }),
      ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as BodyInit }),
    }),
  );
}
