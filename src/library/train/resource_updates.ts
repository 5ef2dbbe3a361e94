/**
 * Runs TensorFlow's update ops: reads the variables behind the handles, or some of their rows, applies the pure update,
 * assigns the result.
 */
import { apply, type OpInput } from "../../engine/core/apply.ts";
import { FailedPreconditionError, UnimplementedError } from "../../engine/core/errors.ts";
import { resourceOf } from "../../engine/core/graph_node.ts";
import { castArray } from "../../engine/core/convert.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { onDevice } from "../../engine/runtime/eager/eager.ts";
import { type EagerTensor, tidy } from "../../engine/runtime/eager/tensor.ts";
import { changeRows } from "../../engine/runtime/variables/scatter_ops.ts";
import type { VariableState } from "../../engine/runtime/variables/variable_state.ts";

/** A resource op as the pure update of the values behind its handles. */
export interface ResourceUpdate {
  readonly op: string;
  readonly pure: OpDef;
  /** Number of handles, the variable's first. */
  readonly handles: number;
  /** Position of the gradient. */
  readonly gradient: number;
  /** Position of the indices of the rows that the gradient is for; undefined where it is for all. */
  readonly indices?: number;
  /** Names and positions of the scalar inputs. */
  readonly scalars: readonly (readonly [string, number])[];
  /** The pure update's scalars and attributes, from the scalar inputs by name. */
  readonly plan: (
    scalars: Readonly<Record<string, number>>,
    attrs: Attrs,
  ) => { scalars: readonly number[]; attrs: Attrs };
}

/** Runs an update op. Throws `UnimplementedError` for attributes that it has no update for. */
export function runUpdate(
  update: ResourceUpdate,
  inputs: readonly OpInput[],
  attrs: Attrs,
): void {
  const { op } = update;
  for (
    const [name, lacking] of [["update_slots", false], ["multiply_linear_by_lr", true]] as const
  ) {
    if (attrs[name] !== lacking) continue;
    throw new UnimplementedError(`Cannot run ${op} with ${name} = ${lacking}`, { op });
  }
  const states = inputs.slice(0, update.handles).map((handle) => stateOf(handle, op));
  const named = Object.fromEntries(update.scalars.map(([name, i]) => [name, numberOf(inputs[i])]));
  const plan = update.plan(named, attrs);
  const { dtype } = states[0];
  const scalars = plan.scalars.map((value) => {
    const literal = NdArray.zeros(dtype, []);
    setElement(literal, 0, value);
    return literal;
  });
  const gradient = inputs[update.gradient];
  const next = (state: readonly Tensor[], g: OpInput): Tensor[] =>
    apply(update.pure, [...state, ...scalars, g], plan.attrs);
  tidy(() => {
    if (update.indices === undefined) {
      const made = next(states.map((s) => s.value), gradient);
      states.forEach((s, i) => s.assign(made[i] as EagerTensor));
      return;
    }
    const { device } = states[0].value.storage;
    const rows = onDevice(gradient, device);
    for (const [indices, from] of turnsOf(inputs[update.indices])) {
      // Copied once for all reads and writes of rows.
      const isLiteral = indices instanceof NdArray && device.type === "GPU";
      const at = onDevice(isLiteral ? castArray(indices, "int32") : indices, device);
      const made = next(
        states.map((s) => gather(s.value, at)),
        from === null ? rows : gather(rows, from),
      );
      states.forEach((s, i) => changeRows(s, "write", [at, made[i]]));
    }
  });
}

/**
 * Splits indices into turns of distinct ones, with their places (null for all): a repeated index is updated again in a
 * later turn, as in TensorFlow. Indices on a GPU are taken as distinct: their order is undefined there.
 */
function turnsOf(indices: OpInput): readonly (readonly [OpInput, NdArray | null])[] {
  if (!(indices instanceof NdArray) && indices.device.includes("GPU")) return [[indices, null]];
  const host = indices instanceof NdArray ? indices : indices.ndarraySync();
  const seen = new Map<number | bigint, number>();
  const turns: number[][] = [];
  (host.data as Int32Array).forEach((index, place) => {
    const turn = seen.get(index) ?? 0;
    seen.set(index, turn + 1);
    (turns[turn] ??= []).push(place);
  });
  if (turns.length <= 1) return [[host, null]];
  const ints = (values: readonly number[]): NdArray =>
    new NdArray("int32", [values.length], Int32Array.from(values));
  return turns.map((places) => [ints(places.map((p) => Number(host.at(p)))), ints(places)]);
}

function stateOf(handle: OpInput, op: string): VariableState {
  const state = handle instanceof Tensor
    ? resourceOf(handle) as VariableState | undefined
    : undefined;
  if (!state) {
    throw new FailedPreconditionError(`Cannot run ${op}: a handle has no variable behind it`, {
      op,
    });
  }
  return state;
}

function numberOf(x: OpInput): number {
  return Number((x instanceof NdArray ? x : x.ndarraySync()).at(0));
}
