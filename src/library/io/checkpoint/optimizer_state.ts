/** The state of optimizers in checkpoints of objects: slots beside variables, or lists of them as Keras 3 has them. */
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { SavedObjectNode } from "./format.ts";

/** Names of slots by Keras 3's attributes. */
const SLOTS: Readonly<Record<string, string>> = {
  momentums: "momentum",
  _momentums: "m",
  _velocities: "v",
  _m: "m",
  _u: "v",
  _accumulators: "accumulator",
  _accumulated_grads: "accum_grad",
  _accumulated_delta_vars: "accum_var",
};
/** The same for RMSprop, which alone has averages of gradients. */
const AVERAGE_GRADIENTS = "_average_gradients";
const SLOTS_OF_RMSPROP: Readonly<Record<string, string>> = {
  [AVERAGE_GRADIENTS]: "mg",
  _velocities: "rms",
  _momentums: "momentum",
};
/** Settings that Keras 2 saves as values. */
const SETTINGS = ["learning_rate", "decay", "beta_1", "beta_2", "momentum", "rho"];

/** The momentum of gradients, which Keras 3 keeps as that of the steps that it takes. */
function withoutRate({ dtype, shape, data }: NdArray, rate: NdArray): NdArray {
  const by = -Number(rate.data[0]), made = NdArray.zeros(dtype, shape);
  const to = made.data as Float32Array;
  for (let i = 0; i < to.length; i++) to[i] = by === 0 ? 0 : Number(data[i]) / by;
  return made;
}

/** Reads the value of an object; null where it has none. */
export type ReadObject = (id: number) => Promise<NdArray | null>;

/**
 * Reads the weights of a saved optimizer, as `setWeights` takes them: `iter`, and slots as `variable/slot`. `names` has the variables
 * by the saved objects. The learning rate is a setting of the optimizer and not restored.
 */
export async function savedWeights(
  nodes: readonly SavedObjectNode[],
  id: number,
  { names, read }: { readonly names: ReadonlyMap<number, string>; readonly read: ReadObject },
): Promise<Map<string, NdArray>> {
  const { children = [], slots = [] } = nodes[id] ?? {};
  const weights = new Map<string, NdArray>();
  const add = async (name: string, from: number): Promise<void> => {
    const value = await read(from);
    if (value !== null) weights.set(name, value);
  };
  const ids = new Map(children.map((child) => [child.name, child.id]));
  const iterations = ids.get("_iterations");
  if (iterations === undefined) {
    for (const { name, id: from } of children) {
      if (SETTINGS.includes(name)) await read(from);
      else await add(name, from);
    }
    for (const { of, name, id: from } of slots) {
      if (names.has(of)) await add(`${names.get(of)}/${name}`, from);
    }
    return weights;
  }
  const listed = (attribute: string): SavedObjectNode["children"] =>
    nodes[ids.get(attribute) ?? -1]?.children ?? [];
  await add("iter", iterations);
  const rate = await read(ids.get("_learning_rate") ?? -1);
  const isRMSprop = ids.has(AVERAGE_GRADIENTS);
  const trained = new Map(listed("_trainable_variables").map(({ name, id }) => [name, id]));
  for (const [attribute, slot] of Object.entries(isRMSprop ? SLOTS_OF_RMSPROP : SLOTS)) {
    for (const { name: place, id: from } of listed(attribute)) {
      const variable = names.get(trained.get(place) ?? -1);
      if (variable === undefined) continue;
      const key = `${variable}/${slot}`;
      await add(key, from);
      const value = weights.get(key);
      if (attribute === "momentums" && value && rate) weights.set(key, withoutRate(value, rate));
    }
  }
  // Keras has no momentum where it is 0.
  if (isRMSprop && listed("_momentums").length === 0) {
    for (const [name, { dtype, shape }] of [...weights]) {
      if (name.endsWith("/rms")) {
        weights.set(name.replace(/rms$/, "momentum"), NdArray.zeros(dtype, shape));
      }
    }
  }
  return weights;
}
