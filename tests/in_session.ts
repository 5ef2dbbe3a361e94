/** Functions of tensors that run in sessions: their inputs are fed, and what they give is fetched. */

import * as tf from "@weft/weft";

/** Builds `f` into a graph with a placeholder for each input, whose first extent is not known, and gives what a session fetches, as tensors. */
export async function inSession<T extends tf.Tensor | readonly tf.Tensor[]>(
  f: (...x: tf.Tensor[]) => T,
  ...inputs: readonly tf.Tensor[]
): Promise<T> {
  const graph = new tf.Graph(), feeds = new Map<tf.Tensor, tf.NdArray>();
  const fetches = graph.asDefault(() =>
    f(...inputs.map((x) => {
      const fed = tf.placeholder(x.dtype, x.shape.map((n, i) => i === 0 ? null : n));
      feeds.set(fed, x.ndarraySync());
      return fed;
    }))
  );
  await using session = new tf.Session({ graph });
  const list = [fetches].flat() as tf.Tensor[];
  const found = await session.run(list, { feeds }) as unknown as tf.NdArray[];
  const tensors = found.map((x, i) => tf.tensor(x as never, undefined, list[i].dtype));
  return (Array.isArray(fetches) ? tensors : tensors[0]) as T;
}
