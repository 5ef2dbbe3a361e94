/** The layout of a segment for concrete specs, as data. */
import type { Device, DeviceBuffer, KernelForm, PreparedKernel } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { VariableState } from "../variables/variable_state.ts";
import type { PlanStep } from "./plan.ts";

/** One kernel of a prepared segment. Registers have the numbers of slots; a view has its source's register. */
export interface Work {
  readonly step: PlanStep;
  readonly kernel: PreparedKernel;
  /** Registers of the arguments; -1 for host inputs and values in a kernel's own form. */
  readonly from: readonly number[];
  /** The register whose memory holds the result afterwards; -1 where the kernel takes new memory. */
  onto: number;
  /** Filled and passed to the kernel at each run. */
  readonly args: (DeviceBuffer | undefined)[];
  /** The form of the variable that it reads; null if it reads none that it would copy. */
  form: VariableForm | null;
  /** The forms in which all readers have its result, if each can keep one: then it need not run. Empty for none. */
  serves: readonly VariableForm[];
  /** Registers of the results. */
  readonly to: readonly number[];
  /** Registers that are not read after this kernel. */
  readonly frees: number[];
  /** Slots of the run that are not read after this kernel. */
  readonly drops: number[];
}

/** A variable's value in a kernel's form: kept with the variable once two successive runs found the same value. */
export interface VariableForm {
  readonly state: VariableState;
  readonly form: KernelForm;
  /** Version of the value at the last read. */
  version: number;
}

/** The owner of memory that outlives the segment: an input, a variable that was read, or the value itself. */
export interface Owner {
  readonly kind: "input" | "load" | "made";
  readonly index: number;
}

/** A value that is read after the segment. */
export interface Output {
  readonly slot: number;
  readonly spec: ConcreteSpec;
  /** Number of its readers inside the segment. */
  readonly uses: number;
  readonly owner: Owner;
}

/** A value that follows from shapes, is read after the segment, and is on the host. */
export interface KnownOutput {
  readonly slot: number;
  readonly value: NdArray;
  /** Number of its readers inside the segment. */
  readonly uses: number;
}

/** A value in a register; several values may be views of one register. */
export interface Value {
  readonly register: number;
  readonly spec: ConcreteSpec;
}

/** A variable that is read before it is assigned, and its value's spec when the segment was laid out. */
export interface Load extends Value {
  readonly state: VariableState;
}

/** A variable that the segment assigns. */
export interface Store {
  readonly state: VariableState;
  readonly shape: readonly number[];
  readonly owner: Owner;
}

/** An input, and the spec that the segment was prepared for. */
export interface Input {
  readonly slot: number;
  readonly spec: ConcreteSpec;
  /** True for a host array, which is uploaded for the segment alone. */
  readonly isArray: boolean;
  /** False where it is only the source of views that are not read. */
  readonly isRead: boolean;
  /**
   * True where the segment takes its memory, so that a kernel can put its result there; null where that makes no
   * difference. A segment laid out for one does not serve the other.
   */
  readonly isTaken: boolean | null;
}

/** A segment for one set of specs. */
export interface Layout {
  readonly device: Device;
  readonly length: number;
  readonly inputs: readonly Input[];
  readonly loads: readonly Load[];
  readonly work: readonly Work[];
  /** Registers of new values that outlive the segment. */
  readonly made: readonly number[];
  /** Inputs whose memory is taken and has come to its end with the segment, by number. */
  readonly spent: readonly number[];
  /** Values that are read later. */
  readonly outputs: readonly Output[];
  readonly arrays: readonly KnownOutput[];
  readonly stores: readonly Store[];
  /** Slots of the run that are read here and later, with the number of reads here. */
  readonly used: readonly (readonly [slot: number, uses: number])[];
  readonly specs: readonly ConcreteSpec[];
  /** Registers; constants are filled in. */
  readonly buffers: DeviceBuffer[];
  /** Names of values that were uploaded for this layout alone. */
  readonly uploads: readonly string[];
}
