/** Error classes: the run-time family of TensorFlow (17 codes) and the build-time ones. */
import { beginAtCaller, begunAs } from "./throwing/user_stack.ts";

/** Details of the place where an error arose. */
export interface ErrorDetails {
  /** TensorFlow op type, e.g. `MatMul`. */
  readonly op?: string | undefined;
  /** Graph node name, e.g. `dense/MatMul`. */
  readonly node?: string | undefined;
  /** Inputs as `dtype[shape]` texts. */
  readonly inputs?: readonly string[] | undefined;
  /** The original error. */
  readonly cause?: unknown;
}

/** A failure while a graph, an eager op or a script body runs. Follows TensorFlow `tf.errors.OpError`. */
export class OpError extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string;
  /** TensorFlow's numeric status code. */
  readonly code: number;
  /** Op type the error arose in. */
  declare readonly op: string | undefined;
  /** Node name the error arose in. */
  declare readonly node: string | undefined;
  /** Specs of the inputs at the failing op. */
  declare readonly inputs: readonly string[] | undefined;

  /** Makes an error with the place it arose in. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details?.cause === undefined ? undefined : { cause: details.cause });
    beginAtCaller(this);
    const [name, code] = kindOf(new.target);
    this.name = name;
    this.code = code;
    // Absent where they are unknown: consoles list the fields of errors.
    const { op, node, inputs } = details ?? {};
    if (op !== undefined) this.op = op;
    if (node !== undefined) this.node = node;
    if (inputs !== undefined) this.inputs = inputs;
  }
}

/** The operation was cancelled (code 1). */
export class CancelledError extends OpError {}
/** An error of no known class, such as a plain `Error` thrown by a script body (code 2). */
export class UnknownError extends OpError {}
/** An argument of wrong value, shape or dtype at run time (code 3). */
export class InvalidArgumentError extends OpError {}
/** The time limit passed before the work ended (code 4). */
export class DeadlineExceededError extends OpError {}
/** Something asked for does not exist (code 5). */
export class NotFoundError extends OpError {}
/** Something to be created exists already (code 6). */
export class AlreadyExistsError extends OpError {}
/** Permission was denied (code 7). */
export class PermissionDeniedError extends OpError {}
/** Memory or another resource ran out (code 8). */
export class ResourceExhaustedError extends OpError {}
/** The system is not in the state the operation needs (code 9). */
export class FailedPreconditionError extends OpError {}
/** The operation was aborted (code 10). */
export class AbortedError extends OpError {}
/** Past the end of a sequence (code 11). */
export class OutOfRangeError extends OpError {}
/** The operation is not implemented here (code 12). */
export class UnimplementedError extends OpError {}
/** An invariant of the runtime was broken (code 13). */
export class InternalError extends OpError {}
/** A device or a server is gone for now (code 14). */
export class UnavailableError extends OpError {}
/** Data was lost or corrupted (code 15). */
export class DataLossError extends OpError {}
/** The caller is not authenticated (code 16). */
export class UnauthenticatedError extends OpError {}

/** Names and codes by class, as minifiers rename classes. */
const KINDS = new Map<typeof OpError, readonly [name: string, code: number]>([
  [CancelledError, ["CancelledError", 1]],
  [UnknownError, ["UnknownError", 2]],
  [InvalidArgumentError, ["InvalidArgumentError", 3]],
  [DeadlineExceededError, ["DeadlineExceededError", 4]],
  [NotFoundError, ["NotFoundError", 5]],
  [AlreadyExistsError, ["AlreadyExistsError", 6]],
  [PermissionDeniedError, ["PermissionDeniedError", 7]],
  [ResourceExhaustedError, ["ResourceExhaustedError", 8]],
  [FailedPreconditionError, ["FailedPreconditionError", 9]],
  [AbortedError, ["AbortedError", 10]],
  [OutOfRangeError, ["OutOfRangeError", 11]],
  [UnimplementedError, ["UnimplementedError", 12]],
  [InternalError, ["InternalError", 13]],
  [UnavailableError, ["UnavailableError", 14]],
  [DataLossError, ["DataLossError", 15]],
  [UnauthenticatedError, ["UnauthenticatedError", 16]],
  [OpError, ["OpError", 2]],
]);

/** Returns name and code of a class, or of the library's class that it extends. */
function kindOf(of: typeof OpError): readonly [string, number] {
  return KINDS.get(of) ?? kindOf(Object.getPrototypeOf(of));
}

/**
 * A value that cannot be used. Python's `ValueError`. Building a graph and the checks of arguments throw it; a kernel
 * or a shape rule that fails at run time, eagerly, in a function or in a session, throws `InvalidArgumentError`, as in
 * TensorFlow. The same fault may be found early or late, so that error is an instance of this class as well.
 */
export class ValueError extends globalThis.RangeError {
  /** Name of the class. */
  override readonly name: string = begunAs("ValueError", this);

  /** True for `ValueError`s and `InvalidArgumentError`s. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(this, value) ||
      this === ValueError && value instanceof InvalidArgumentError;
  }
}
/** A missing registration or name. Python's `LookupError` (and `KeyError`). */
export class LookupError extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string = begunAs("LookupError", this);
}
/** Use of something in a state that forbids it. Python's `RuntimeError`. */
export class RuntimeError extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string = begunAs("RuntimeError", this);
}
/** A symbolic tensor used where a value is needed, e.g. in an `if`. */
export class OperatorNotAllowedInGraphError extends globalThis.TypeError {
  /** Name of the class. */
  override readonly name: string = begunAs("OperatorNotAllowedInGraphError", this);
}
/** Thrown by a script body or a generator at the end of its data. */
export class StopIteration extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string = begunAs("StopIteration", this);
}
/** Thrown by a script body for unsupported arguments. */
export class NotImplementedError extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string = begunAs("NotImplementedError", this);
}
