/** Completes the layout of a segment: what is freed where, what outlives the segment, and what need not run. */
import type { Device, DeviceBuffer } from "../../core/device.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { EagerTensor } from "../eager/tensor.ts";
import type { VariableState } from "../variables/variable_state.ts";
import type { Layout, Load, Output, Owner, Store, Value, Work } from "./layout.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { ShapeValues } from "./shape_values.ts";
import type { Turned } from "./turned_variables.ts";

/** An input of a segment. */
export interface Given {
  readonly slot: number;
  /** A tensor on the segment's device, or a host array. */
  readonly value: EagerTensor | NdArray;
  /** True where the segment may have the tensor's memory. */
  readonly isMovable: boolean;
}

/** A layout to complete: the kernels and registers of its steps. */
export interface Draft {
  readonly plan: Plan;
  readonly device: Device;
  readonly given: readonly Given[];
  readonly work: Work[];
  readonly loads: readonly Load[];
  /** Values of variables, and which of them are assigned. */
  readonly values: ReadonlyMap<VariableState, Value>;
  readonly assigned: ReadonlySet<VariableState>;
  readonly specs: readonly ConcreteSpec[];
  readonly buffers: DeviceBuffer[];
  /** Names of what was uploaded for this layout. */
  readonly uploads: readonly string[];
  /** Transposed values of variables, by register. */
  readonly turned: ReadonlyMap<number, Turned>;
  /** Values that follow from shapes, and the slots of those that the host alone has. */
  readonly shaped: ShapeValues;
  readonly hosted: ReadonlySet<number>;
  /** Returns the register of a slot. */
  register(slot: number): number;
}

/** Finds the last reader of each value, and completes the layout: an empty one where only views would be left. */
export function completeLayout(draft: Draft, steps: readonly PlanStep[]): Layout {
  const { plan, device, work, loads, specs, shaped, hosted } = draft;
  const reads = new Map<number, number>();
  for (const { inputs } of steps) for (const s of inputs) reads.set(s, (reads.get(s) ?? 0) + 1);
  const kept = steps.flatMap((s) => s.outputs)
    .filter((slot) => plan.uses[slot] !== (reads.get(slot) ?? 0));
  const assigned = steps.length === 0 ? [] : [...draft.assigned];
  const leaving = new Set([
    ...kept.map((slot) => draft.register(slot)),
    ...assigned.map((state) => draft.values.get(state)!.register),
  ]);
  dropKnown(draft, leaving);
  if (work.length === 0 && steps.length > 0) return completeLayout(draft, []);
  const lastAt = new Map<number, Work>();
  for (const w of work) for (const r of w.from) lastAt.set(r, w);

  settleTurned(draft, leaving);
  const later = readsLater(plan, steps);
  const lastOf = (register: number): Work | undefined =>
    leaving.has(register) ? undefined : lastAt.get(register);
  const inputs = draft.given.map(({ slot, value, isMovable }) => {
    const last = value instanceof NdArray || later(slot) > 0 ? undefined : lastOf(slot);
    return {
      slot,
      spec: specs[slot],
      isArray: value instanceof NdArray,
      isRead: lastAt.has(slot) || leaving.has(slot),
      isTaken: last !== undefined && putsOnto(last, slot) ? isMovable : null,
    };
  });
  for (const w of work) {
    for (const r of w.to) if (!leaving.has(r)) (lastAt.get(r) ?? w).frees.push(r);
  }
  const used: [number, number][] = [];
  for (const { slot, isArray, isTaken } of inputs) {
    const last = lastOf(slot);
    if (isArray || isTaken) last?.frees.push(slot);
    if (!isArray && last && later(slot) === 0) last.drops.push(slot);
    else if (reads.has(slot)) used.push([slot, reads.get(slot)!]);
  }
  // What a kernel would free it can put its result into.
  for (const w of work) {
    const at = w.frees.findIndex((r) => putsOnto(w, r));
    if (at >= 0) [w.onto] = w.frees.splice(at, 1);
  }

  const made: number[] = [];
  const arrays = kept.filter((slot) => hosted.has(slot)).map((slot) => ({
    slot,
    value: shaped.value(slot)!,
    uses: reads.get(slot) ?? 0,
  }));
  const outputs = kept.filter((slot) => !hosted.has(slot)).map((slot): Output => ({
    slot,
    spec: specs[slot],
    uses: reads.get(slot) ?? 0,
    owner: ownerOf(draft, draft.register(slot), made),
  }));
  const stores = assigned.map((state): Store => {
    const { register, spec } = draft.values.get(state)!;
    return { state, shape: spec.shape, owner: ownerOf(draft, register, made) };
  });
  // Taken memory moves from result to result.
  const moved = new Map(work.flatMap(({ onto, to }) => onto < 0 ? [] : [[onto, to[0]]]));
  const spent = inputs.flatMap(({ slot, isTaken }, i) => {
    let register = slot;
    for (let next = moved.get(slot); next !== undefined; next = moved.get(next)) register = next;
    return isTaken && !made.includes(register) ? [i] : [];
  });
  const { length } = steps;
  const all = { inputs, loads, work, made, spent, outputs, arrays, stores, used };
  return { device, length, ...all, specs, buffers: draft.buffers, uploads: draft.uploads };
}

/** Returns the owner of a register's memory; a new value is added to `made`. */
function ownerOf({ given: all, loads }: Draft, register: number, made: number[]): Owner {
  const given = all.findIndex((g) => g.slot === register);
  if (given >= 0 && !(all[given].value instanceof NdArray)) {
    return { kind: "input", index: given };
  }
  const load = loads.findIndex((l) => l.register === register);
  if (load >= 0) return { kind: "load", index: load };
  if (!made.includes(register)) made.push(register);
  return { kind: "made", index: made.indexOf(register) };
}

/** Lets transpositions rest whose results all readers keep, and takes the forms of the others' results away. */
function settleTurned({ work, turned }: Draft, leaving: ReadonlySet<number>): void {
  for (const [register, { work: by, state }] of turned) {
    const readers = work.filter((w) => w.from.includes(register));
    const isForm = (w: Work): boolean =>
      w.form?.state === state && w.from[w.form.form.input] === register;
    const isAll = readers.length > 0 && !leaving.has(register) &&
      readers.every((w) => isForm(w) && w.from.filter((r) => r === register).length === 1);
    if (isAll) by.serves = readers.map((w) => w.form!);
    else for (const w of readers) if (isForm(w)) w.form = null;
  }
}

/** Removes the kernels whose results the layout knows and no other kernel reads. */
function dropKnown({ work, shaped }: Draft, leaving: ReadonlySet<number>): void {
  const read = new Set(leaving);
  for (let i = work.length - 1; i >= 0; i--) {
    const { from, to } = work[i];
    if (to.every((r) => shaped.knows(r) && !read.has(r))) work.splice(i, 1);
    else for (const r of from) read.add(r);
  }
}

/** True for a kernel that can put its result into a register, which no other of its arguments is. */
function putsOnto({ kernel: { onto }, from }: Work, register: number): boolean {
  return onto !== undefined && from[onto.input] === register &&
    from.indexOf(register) === from.lastIndexOf(register);
}

/** Counts the reads of a slot after these steps, once all steps before have run. */
function readsLater(plan: Plan, steps: readonly PlanStep[]): (slot: number) => number {
  const left = plan.uses.slice();
  const end = steps.length === 0 ? 0 : steps[steps.length - 1].index + 1;
  for (const { inputs } of plan.steps.slice(0, end)) for (const slot of inputs) left[slot]--;
  return (slot) => left[slot];
}
