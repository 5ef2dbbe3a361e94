/**
 * Turned variables: where a segment transposes the value of a variable, as filters of files are, kernels that read the
 * result keep it with the variable in their own layout.
 */
import type { Device, KernelForm, PreparedKernel } from "../../core/device.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { Launch } from "../eager/launch.ts";
import type { VariableState } from "../variables/variable_state.ts";
import type { VariableForm, Work } from "./layout.ts";

/** A transposed value of a variable. */
export interface Turned {
  readonly state: VariableState;
  /** The kernel that transposes it. */
  readonly work: Work;
  /** The transposed value as a form of the variable. */
  readonly form: Omit<KernelForm, "input" | "run">;
}

/** Returns the value that a kernel makes by transposing that of a variable; null for other kernels. */
export function turnedBy(
  work: Work,
  { hosts, outputs: [spec] }: Launch,
  source: { readonly state: VariableState; readonly spec: ConcreteSpec } | null,
): Turned | null {
  const { meaning } = work.step.node.def, order = hosts[1]?.data;
  const isTransposed = meaning.kind === "copy" && meaning.transposes;
  if (source === null || !isTransposed || order === undefined) return null;
  const { kernel: { run } } = work, { state, spec: { shape } } = source;
  const args = work.from.map(() => undefined);
  return {
    state,
    work,
    form: {
      key: `[${shape}] by [${order}]`,
      spec,
      make: (value) => run(args.with(0, value as undefined))[0],
    },
  };
}

/** Returns the form of a turned variable that a kernel keeps of its input; null where it cannot. */
export function turnedForm(
  { state, form: turned }: Turned,
  { form, run, onto }: PreparedKernel,
  { input, device }: { readonly input: number; readonly device: Device },
): VariableForm | null {
  const keeps = (form: KernelForm): VariableForm => ({ state, form, version: -1 });
  if (form === undefined || form.input !== input || form.differs) {
    // A kernel that may write onto an input could write onto this one.
    return onto === undefined ? keeps({ ...turned, input, run }) : null;
  }
  return keeps({
    ...form,
    key: `${turned.key}, ${form.key}`,
    make(value) {
      const plain = turned.make(value);
      try {
        return form.make(plain);
      } finally {
        device.free(plain, turned.spec);
      }
    },
  });
}
