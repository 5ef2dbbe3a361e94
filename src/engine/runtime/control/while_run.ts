/** WhileRun: one run of a loop in a plan, turn by turn. README.md draws a turn. */
import type { OpInput } from "../../core/apply.ts";
import type { HostResults } from "../../core/contract/host_op.ts";
import { readNow } from "../../core/device.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { whenReady } from "../../core/nest.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { specText } from "../../core/tensor_spec.ts";
import type { EagerTensor } from "../eager/tensor.ts";
import { Boundary } from "../plan/boundary.ts";
import type { Later } from "../plan/later.ts";
import type { RunCall } from "../run/run_context.ts";
import type { Branch } from "./branch.ts";
import { ControlCall } from "./control_call.ts";
import { type HostState, hostStateOfWhile } from "./host_state.ts";
import { repeat, waitsBeforeEffects } from "./rows.ts";

/** The result of a turn: the next values, or null at the end of the loop. */
type Next = OpInput[] | null;

/** A body that was started before its condition was known; null where it failed, which counts only if it is wanted. */
type Begun = OpInput[] | Later<OpInput[]> | null;

/** Runs a `While`. Results: the last values of the variables, then the tape. */
export function runWhile(call: RunCall): HostResults | Promise<HostResults> {
  return new WhileRun(call).run();
}

class WhileRun {
  readonly #call: RunCall;
  readonly #control: ControlCall;
  readonly #cond: Branch;
  readonly #body: Branch;
  readonly #shapes: readonly PartialShape[];
  readonly #host: HostState;
  #vars: readonly OpInput[];
  #iteration = 0;
  #beginsBody: boolean | undefined;

  constructor(call: RunCall) {
    const { cond, body, output_shapes } = call.attrs;
    this.#call = call;
    this.#cond = cond;
    this.#body = body;
    this.#shapes = output_shapes;
    this.#host = hostStateOfWhile(call.attrs);
    this.#control = new ControlCall(call, call.inputs, this.#host.inputs);
    this.#vars = this.#control.inputs.slice(0, this.#shapes.length);
    this.#control.takeTurns(body, { isLastOnly: true });
  }

  run(): HostResults | Promise<HostResults> {
    return this.#control.settle(() => whenReady(repeat(this.#turn), () => this.#vars));
  }

  /** Runs the condition and the body, and updates the variables. False at the end of the loop. */
  readonly #turn = (): boolean | Promise<boolean> => {
    const test = this.#control.run(this.#cond, this.#vars, { host: this.#host.cond });
    return whenReady(whenReady(test, this.#decide), this.#advance);
  };

  /** Reads the condition, and runs the body if it holds. */
  readonly #decide = ([p]: readonly OpInput[]): Next | Promise<Next> => {
    if (p instanceof NdArray) return p.item() ? this.#runBody() : null;
    const condition = p as EagerTensor, { device } = condition.storage;
    if (device.type === "GPU" && this.#mayBeginBody()) return this.#beginBody(condition);
    // An array for one element costs more than the kernels of a small turn.
    if (device.hostElements !== undefined) return this.#follow(condition, condition.scalar());
    const read = readNow(device, [condition.memory]);
    return whenReady(read, ([a]) => this.#follow(condition, a.item()));
  };

  #follow(condition: EagerTensor, more: unknown): Next | Promise<Next> {
    this.#control.free(condition);
    return more ? this.#runBody() : null;
  }

  #runBody(): OpInput[] | Promise<OpInput[]> {
    const { body: host } = this.#host;
    return this.#control.run(this.#body, this.#vars, { host, reads: "last of arguments" });
  }

  /** True where the body makes its reads before it has any effect. */
  #mayBeginBody(): boolean {
    return this.#beginsBody ??= waitsBeforeEffects(
      this.#control.planOf(this.#body, this.#host.body),
    );
  }

  /** Runs the body up to its reads, which are made together with the condition's. */
  #beginBody(condition: EagerTensor): Next | Promise<Next> {
    const boundary = new Boundary(this.#call.context, { isClosed: true });
    const { turns } = this.#control, begun = this.#runTo(boundary);
    let more = false;
    const passed = boundary.pass(
      { reads: [condition.memory], device: condition.storage.device },
      ([a]) => more = Boolean(a.item()),
    );
    return whenReady(passed, () => {
      this.#control.free(condition);
      if (more) return this.#endBody(begun, boundary);
      this.#control.keepTurns(turns);
      return null;
    });
  }

  #runTo(boundary: Boundary): Begun {
    try {
      return this.#control.runTo(boundary, this.#body, this.#vars, { host: this.#host.body });
    } catch (error) {
      // It fails again if it is wanted.
      if (!boundary.hasFailed) throw error;
      return null;
    }
  }

  #endBody(begun: Begun, boundary: Boundary): OpInput[] | Promise<OpInput[]> {
    if (begun === null) return this.#runBody();
    return whenReady(boundary.passAll(), () => Array.isArray(begun) ? begun : begun.take());
  }

  /** Makes results the new values of the variables. False without results. */
  readonly #advance = (results: Next): boolean => {
    if (results === null) return false;
    const before = this.#vars;
    this.#vars = this.#onHost(results);
    for (let i = 0; i < before.length; i++) {
      if (!this.#vars.includes(before[i])) this.#control.free(before[i]);
    }
    this.#checkShapes();
    this.#iteration++;
    return true;
  };

  /** Returns the results; the host's variables become arrays, as no kernel would read a device's copy of them. */
  #onHost(results: OpInput[]): OpInput[] {
    const { fetches } = this.#host.body;
    if (fetches.size === 0 || this.#control.recorder !== null) return results;
    return results.map((v, i) => {
      if (!fetches.has(i) || v instanceof NdArray || this.#vars.includes(v)) return v;
      const array = (v as EagerTensor).ndarraySync();
      this.#control.free(v);
      return array;
    });
  }

  /** Throws `InvalidArgumentError` where a variable has not the shape that all iterations must have. */
  #checkShapes(): void {
    for (let i = 0; i < this.#vars.length; i++) {
      const v = this.#vars[i], shape = v instanceof NdArray ? v.shape : v.staticShape;
      if (compatible(this.#shapes[i], shape)) continue;
      throw new InvalidArgumentError(
        `Loop variable ${i} has ${
          specText({ dtype: v.dtype, shape })
        } after iteration ${this.#iteration}, which breaks its shape invariant ${
          shapeText(this.#shapes[i])
        }`,
        { op: this.#call.def.name, node: this.#call.node },
      );
    }
  }
}
