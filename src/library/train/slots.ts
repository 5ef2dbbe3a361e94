/** Slots: the variables that an optimizer keeps for each variable that it trains, with their saving and restoring. */
import { currentInterpreter, withInterpreter } from "../../engine/core/apply.ts";
import { castArray } from "../../engine/core/convert.ts";
import { type DType, isShort } from "../../engine/core/dtype.ts";
import { wantList, wrongArgument } from "../../engine/core/arguments.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { sameShape, shapeText } from "../../engine/core/shape.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { fill } from "../../engine/ops/array/creation.ts";
import { device } from "../../engine/runtime/devices/devices.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { sessionVariable } from "../../engine/runtime/variables/late_variables.ts";
import { type Variable, variable } from "../../engine/runtime/variables/variable.ts";

/** Name and initial value of a slot. */
export interface SlotInit {
  /** Ending of its name in `getWeights()`: `m` for `dense/kernel/m`. */
  readonly name: string;
  /** Initial value. Default 0. */
  readonly initial?: number;
  /** Its shape. Default the variable's. */
  readonly shape?: (v: Variable) => readonly number[];
}

/** The dtype of a variable's slots: float32 where that of the variable holds too few digits of a running mean. */
export function stateDType(dtype: DType): DType {
  return isShort(dtype) ? "float32" : dtype;
}

/** An optimizer's slots. */
export interface SlotPlan {
  /** Slots of each variable, in the update op's order. Default: none. */
  readonly slots?: readonly SlotInit[];
  /** Order of the slots in `getWeights()`. Default: that of `slots`. */
  readonly savedOrder?: readonly number[];
}

export interface SavedSlot {
  /** `variable/slot`. */
  readonly name: string;
  readonly value: NdArray;
  /** True where its variable is known, so that it is for no other. */
  readonly isNamed?: boolean;
}

/** Throws `TypeError` unless these are saved values with their names. */
export function wantSaved(saved: readonly SavedSlot[], fn: string): void {
  wantList(saved, "saved", fn, "objects of name and value");
  for (const [i, one] of saved.entries()) {
    if (typeof one?.name === "string" && one.value instanceof NdArray) continue;
    throw wrongArgument(one, `saved[${i}]`, fn, "an object of name and value");
  }
}

/** The slot in `variable/slot`. */
function endOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

export class Slots {
  readonly #className: string;
  readonly #slots: readonly SlotInit[];
  readonly #savedOrder: readonly number[];
  readonly #kept = new Map<
    number,
    { readonly name: string; readonly slots: readonly Variable[] }
  >();
  /** Values restored for variables that were not trained yet. */
  #saved: readonly SavedSlot[] = [];

  /** `className` names the optimizer in messages. */
  constructor(className: string, { slots = [], savedOrder = [...slots.keys()] }: SlotPlan) {
    this.#className = className;
    this.#slots = slots;
    this.#savedOrder = savedOrder;
  }

  /**
   * Finds or creates the slots of a variable; a graph's variable has slots in each session. Throws `ValueError` where a
   * restored value has another shape.
   */
  of(v: Variable): readonly Variable[] {
    const known = this.#kept.get(v.id);
    if (known) return known.slots;
    const index = this.#kept.size;
    const initial = (slot: SlotInit, k: number): Tensor => {
      const shape = slot.shape?.(v) ?? v.shape, dtype = stateDType(v.dtype);
      const saved = this.#savedFor(v.name, k, index, shape);
      return saved
        ? currentInterpreter().constant(castArray(saved, dtype))
        : fill(shape, slot.initial ?? 0, dtype);
    };
    const made = withInterpreter(
      null,
      () =>
        device(
          v.device,
          () =>
            tidy(() =>
              this.#slots.map((slot, k) =>
                v.resource.ofGraph
                  ? sessionVariable(initial(slot, k), false)
                  : variable(initial(slot, k), false)
              )
            ),
        ),
    );
    this.#kept.set(v.id, { name: v.name, slots: made });
    return made;
  }

  /** Finds a restored value: by name, else by position among those of the same slot. */
  #savedFor(
    name: string,
    slot: number,
    index: number,
    shape: readonly number[],
  ): NdArray | null {
    const end = this.#slots[slot].name;
    const inPlace = () => this.#saved.filter((s) => endOf(s.name) === end)[index];
    const unnamed = (s?: SavedSlot): SavedSlot | null => s === undefined || s.isNamed ? null : s;
    const found = this.#saved.find((s) => s.name === `${name}/${end}`) ?? unnamed(inPlace());
    if (!found) return null;
    if (!sameShape(found.value.shape, shape)) {
      throw new ValueError(
        `Cannot restore ${found.name} of ${this.#className}: the saved shape is ${
          shapeText(found.value.shape)
        }, that of variable '${name}' ${shapeText(shape)}`,
      );
    }
    return found.value;
  }

  /** Returns all slots, named by their variables. They are the optimizer's own. */
  list(): { name: string; tensor: Tensor }[] {
    return this.#savedOrder.flatMap((k) =>
      [...this.#kept.values()].map((kept) => ({
        name: `${kept.name}/${this.#slots[k].name}`,
        tensor: kept.slots[k] as Tensor,
      }))
    );
  }

  /**
   * Checks saved values and returns what takes them: existing slots are assigned, so that compiled steps use them; later slots are
   * made from them. Throws `ValueError` where a slot is not the optimizer's, the number of slots or a shape differs; `isPartial`: values of
   * slots that it has not are left out, and some may lack.
   */
  fit(saved: readonly SavedSlot[], isPartial: boolean): () => void {
    const names = this.#slots.map(({ name }) => name);
    const stranger = saved.find(({ name }) => !names.includes(endOf(name)));
    if (!isPartial) this.#checkAll(saved, names, stranger);
    const before = this.#saved;
    const own = stranger ? saved.filter(({ name }) => names.includes(endOf(name))) : saved;
    this.#saved = own;
    try {
      const pairs = [...this.#kept.values()].flatMap(({ name, slots: kept }, index) =>
        kept.map((slot, k) => [slot, this.#savedFor(name, k, index, slot.shape)] as const)
      );
      return () => {
        this.#saved = own;
        for (const [slot, value] of pairs) if (value) slot.assign(castArray(value, slot.dtype));
      };
    } finally {
      this.#saved = before;
    }
  }

  #checkAll(saved: readonly SavedSlot[], names: readonly string[], stranger?: SavedSlot): void {
    const head = `Cannot set the weights of ${this.#className}`;
    if (stranger) {
      const wanted = names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ");
      throw new ValueError(`${head}: received the slot "${stranger.name}", wanted ${wanted}`);
    }
    const counts = names.map((end) => saved.filter(({ name }) => endOf(name) === end).length);
    if (counts.every((count) => count === counts[0])) return;
    throw new ValueError(
      `${head}: received ${saved.length} slots, wanted a multiple of ${names.length}`,
    );
  }

  dispose(): void {
    for (const { slots } of this.#kept.values()) slots.forEach((slot) => slot.dispose());
    this.#kept.clear();
    this.#saved = [];
  }
}
