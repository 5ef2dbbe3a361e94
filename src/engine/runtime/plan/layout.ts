/**
 * A segment laid out for concrete specs, as data.
 */
import type { Device, DeviceBuffer, KernelForm, PreparedKernel } from "../../core/device.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { VariableState } from "../variables/variable_state.ts";
import type { PlanStep } from "./plan.ts";

/** One kernel of a prepared segment. Registers are numbered as slots; those of views are their sources'. */
export interface Work {
  readonly step: PlanStep;
  readonly kernel: PreparedKernel;
  /** Registers of the arguments; -1 for what is read on the host, or lies as the kernel wants it. */
  readonly from: readonly number[];
  /** The register whose memory holds the result afterwards; -1 where the kernel takes new memory. */
  onto: number;
  /** Filled and handed to the kernel at each run. */
  readonly args: (DeviceBuffer | undefined)[];
  /** How it wants the variable that it reads; null where it reads none that it would copy. */
  readonly form: VariableForm | null;
  /** Registers of the results. */
  readonly to: readonly number[];
  /** Registers that nobody reads after this. */
  readonly frees: number[];
  /** Slots of the run that nobody reads after this. */
  readonly drops: number[];
}

/** A variable's value as a kernel wants it: kept with the variable once a run found the value that the run before had read. */
export interface VariableForm {
  readonly state: VariableState;
  readonly form: KernelForm;
  /** Version of the value that the last run read. */
  version: number;
}

/** Whose memory a value has that outlives the segment: an input's, that of a variable that was read, or memory of its own. */
export interface Owner {
  readonly kind: "input" | "load" | "made";
  readonly index: number;
}

/** A value that is read after the segment. */
export interface Output {
  readonly slot: number;
  readonly spec: ConcreteSpec;
  /** Readers inside the segment. */
  readonly uses: number;
  readonly owner: Owner;
}

/** A value in a register; several may be views of one. */
export interface Value {
  readonly register: number;
  readonly spec: ConcreteSpec;
}

/** A variable that is read before it is assigned, and what its value was when the segment was laid out. */
export interface Load extends Value {
  readonly state: VariableState;
}

/** A variable that has another value after the segment. */
export interface Store {
  readonly state: VariableState;
  readonly shape: readonly number[];
  readonly owner: Owner;
}

/** An input, and the spec the segment was prepared for. */
export interface Input {
  readonly slot: number;
  readonly spec: ConcreteSpec;
  /** True: a host array, which is uploaded for the segment alone. */
  readonly isArray: boolean;
  /** False where nothing but views that nobody reads is made of it. */
  readonly isRead: boolean;
  /**
   * Whether the segment takes its memory, as a kernel can put its result there. Null where that makes no difference. A segment that is
   * laid out for one does not serve the other.
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
  /** Registers made here that outlive the segment. */
  readonly made: readonly number[];
  /** Inputs whose memory is taken and has come to its end with the segment, by number. */
  readonly spent: readonly number[];
  /** What is read later. */
  readonly outputs: readonly Output[];
  readonly stores: readonly Store[];
  /** Slots of the run that are read here and later, and how often here. */
  readonly used: readonly (readonly [slot: number, uses: number])[];
  readonly specs: readonly ConcreteSpec[];
  /** Registers; constants hold their places. */
  readonly buffers: DeviceBuffer[];
}
