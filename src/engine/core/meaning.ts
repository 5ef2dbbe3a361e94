/**
 * The meaning of ops for passes, placement and devices. An op's definition declares it; devices find kernels by its kind.
 */
import type { Attrs, Problem } from "./op.ts";
import type { Expr } from "./scalar/expr.ts";

/** The kind of an op and what its readers need. Functions are asked where shapes and attributes decide. */
export type Meaning =
  /** Output i is expression i of the inputs, broadcast. `sums`: it adds up its inputs, however many there are. */
  | {
    readonly kind: "pointwise";
    readonly exprs: (args: readonly Expr[], attrs: Attrs) => readonly Expr[];
    readonly sums?: boolean;
  }
  /**
   * New values of a variable and its slots by a rule that is pointwise except for scalars. Inputs are as many arrays as
   * there are outputs, scalars, and the gradient; with `members`, so many scalars and then so many arrays for each
   * variable.
   */
  | {
    readonly kind: "update";
    readonly exprs: (args: readonly Expr[], attrs: Attrs) => readonly Expr[];
    readonly members?: (attrs: Attrs) => { readonly scalars: number; readonly arrays: number };
  }
  /** The value of an attribute, the same at each run. */
  | { readonly kind: "constant" }
  /** A value that each run is given. */
  | { readonly kind: "input" }
  /** The output is the first input in its own memory, perhaps under another shape. */
  | { readonly kind: "view" }
  /**
   * The output is a copy of input `from`; places read from nowhere get the element in input `fill`, or zero. `transposes`: the copy may
   * be a transpose, for which devices may have kernels of their own.
   */
  | {
    readonly kind: "copy";
    readonly from: number;
    readonly map: (problem: Problem) => CopyMap;
    readonly fill: number | undefined;
    readonly transposes: boolean;
  }
  /** Copies rows between a whole and its parts: the first inputs are joined, or input `from` is split. */
  | {
    readonly kind: "exchange";
    readonly way: "join" | "split";
    readonly from: number;
    readonly partsOf: (problem: Problem) => RowParts;
  }
  /**
   * Elements that follow from their positions: the element in input 1, a number, a ramp by its step or by its end,
   * random draws.
   */
  | {
    readonly kind: "fill";
    readonly how: "element" | "steps" | "spaced" | "integers" | Distribution;
  }
  | { readonly kind: "fill"; readonly how: "number"; readonly number: (attrs: Attrs) => number }
  /** The output holds the rows of input 0 that input 1 names. */
  | { readonly kind: "gather"; readonly layout: (problem: Problem) => RowLayout }
  /**
   * Scatters rows of an input by indices: `add` sums, `write` keeps the last. `skip`: rows with a negative index are
   * left out.
   */
  | {
    readonly kind: "scatter";
    readonly how: "add" | "write";
    readonly layout: (problem: Problem) => RowLayout;
    readonly inputs: ScatterInputs;
    readonly skip: "none" | "negative";
  }
  /** Counts the values in all of input 0, or in each of its rows. */
  | { readonly kind: "count"; readonly of: "all" | "rows" }
  /** Marks the positions along an axis that input 0 names. */
  | { readonly kind: "mark" }
  /** Images read between or beside their pixels, or the gradient of that with respect to the image. */
  | {
    readonly kind: "sample";
    readonly how: "bilinear" | "nearest" | "crop" | "transform" | "rotation";
    readonly gives: "result" | "gradient";
  }
  /** Reduces input 0 over the axes in input 1; a plan may give it a prologue and an epilogue. */
  | { readonly kind: "reduce" } & ReduceMeaning
  /** The first index of the greatest or least element along the axis in input 1. */
  | { readonly kind: "arg reduce"; readonly op: ArgOp }
  /** Running sums or products along the axis in input 1. */
  | { readonly kind: "scan"; readonly op: ScanOp }
  /** The greatest elements of each row, and their places. */
  | { readonly kind: "top" }
  /** The sum of each element's neighbours in its row, or the local response that is normalized by it. */
  | { readonly kind: "neighbors"; readonly gives: "sum" | "response" }
  /** Reads each row a few times, reducing it to a few numbers each time. */
  | { readonly kind: "rows"; readonly program: RowProgram }
  /**
   * Reads rows as in `rows`, described step by step. The inputs in `columns` have an element for each column, the
   * others are rows.
   */
  | {
    readonly kind: "row steps";
    readonly steps: (attrs: Attrs) => RowSteps;
    readonly columns: readonly number[];
  }
  /** The greatest element or the mean of each window, or the gradient of that; of the greatest also its place, and the second gradient. */
  | {
    readonly kind: "window";
    readonly takes: "max" | "mean";
    readonly gives: "result" | "gradient";
  }
  | {
    readonly kind: "window";
    readonly takes: "max";
    readonly gives: "result and place" | "second gradient";
  }
  /** The greatest sum of a window and a filter, or a gradient of that. */
  | {
    readonly kind: "dilation";
    readonly gives: "result" | "input gradient" | "filter gradient";
  }
  /** Products of matrices; `normed`: of rows of x that are normalized by scale and offset; `halves`: of float32 and float16. */
  | { readonly kind: "product"; readonly of?: "normed" | "halves" } & SumsMeaning
  /** Products of x and rows of levels in blocks, with their scales and zeros. */
  | { readonly kind: "quantised product" } & SumsMeaning
  /** Sums of products of windows with filters over all channels, or over one, or a gradient of that. */
  | {
    readonly kind: "convolution";
    readonly of: "windows" | "channels";
    readonly gives: "result" | "input gradient" | "filter gradient";
  } & SumsMeaning
  /** Attention, or all steps of a recurrent network. */
  | { readonly kind: "sequence"; readonly kernel: SequenceKernel }
  /** Solutions, inverses, factors or determinants by elimination with pivots, roots of symmetric matrices, solutions of triangular systems. */
  | {
    readonly kind: "elimination";
    readonly gives:
      | "solution"
      | "inverse"
      | "factors"
      | "determinant"
      | "log determinant"
      | "cholesky"
      | "substitution";
  }
  /** Fourier transforms along an axis, between complex numbers or from and to half spectra of real ones. */
  | { readonly kind: "fourier"; readonly gives: FourierKernel }
  /** An op like no other: devices find its kernel by this name. */
  | { readonly kind: "special"; readonly kernel: SpecialKernel }
  /** Nothing that passes or devices know. */
  | { readonly kind: "opaque" };

/** The kinds. */
export type MeaningKind = Meaning["kind"];

/** The meanings of one kind. */
export type MeaningOf<K extends Meaning["kind"]> = Extract<Meaning, { readonly kind: K }>;

/** Sums of products that an expression may follow. */
export interface SumsMeaning {
  /** True: a plan may give it an epilogue. */
  readonly fuses?: boolean;
  /** The problem of the op without epilogue, with the epilogue that the attributes ask for; null where no kernel knows it. */
  readonly asFused?: (problem: Problem) => Problem | null;
}
/** Kernels of sequences. */
export type SequenceKernel = "attention" | "attention gradient" | "recurrence";

/** Fourier transforms of rows, or along the axis in an attribute, and the adjoints of those that are not their own but for a factor. */
export type FourierKernel =
  | "fft"
  | "ifft"
  | "along"
  | "rfft"
  | "irfft"
  | "rfft adjoint"
  | "irfft adjoint";

/** Kernels of ops that are like no other. */
export type SpecialKernel =
  | "band part"
  | "column sums"
  | "first equal"
  | "linear scan"
  | "lower bound"
  | "onto rows"
  | "pick"
  | "place"
  | "shift"
  | "upper bound";

/**
 * Cells of recurrent networks: of a GRU the reset gate is applied before the product with its weights or after it; a plain one by its
 * activation.
 */
export type RecurrentCell = "lstm" | "gru" | "gru after" | "tanh" | "relu" | "sigmoid";

/** A reduction: the term of each element, the operation that combines terms, and the final step. */
export interface ReduceMeaning {
  /** Combines terms. */
  readonly op: ReduceOp;
  /** The term of an element, which is argument 0. Default: the element itself. */
  readonly term?: Expr;
  /** The result, from the combined terms, which are argument 0. Default: these. */
  readonly finish?: Expr;
}
/** Operations that combine terms. */
export type ReduceOp = "sum" | "mean" | "prod" | "max" | "min" | "any" | "all";
/** The kind of the wanted element. */
export type ArgOp = "max" | "min";
/** Operations of a scan. */
export type ScanOp = "sum" | "prod";
/** Distributions of random floats. */
export type Distribution = "uniform" | "normal" | "truncated";
/** A row kernel: the numbers reduced from each row, and the expressions of its elements. */
export interface RowSteps {
  /** Numbers that are computed one after another. */
  readonly found: readonly RowNumber[];
  /** The outputs. Arguments are the inputs, then all numbers. */
  readonly results: readonly Expr[];
}
/** A number that is computed from a row. */
export interface RowNumber {
  /** Combines the terms of the elements; `max` and `min` may ignore NaN. Null: the number follows from others. */
  readonly fold: "sum" | "mean" | "max" | "min" | null;
  /** The term of an element, or the number. Arguments are the inputs, then the numbers before it. */
  readonly of: Expr;
}
/** Programs of rows. */
export type RowProgram =
  | "softmax"
  | "logSoftmax"
  | "crossEntropy"
  | "sparseCrossEntropy"
  | "layerNormGrad"
  | "multinomial";

/** The map from the coordinate `c` along one output axis to its position in the input. */
export interface AxisMap {
  /** Extent in the output. */
  readonly dim: number;
  /** Input elements per step; 0 repeats, negative runs backwards. */
  readonly stride: number;
  /**
   * `plain`: the step is `c`; `window`: `(c - begin) / step` where that is whole and in `[0, extent)`, else the place
   * is filled; `mirror`: `c - begin` folded back into `[0, extent)`, repeating the border where `step` is 1; `roll`:
   * `(c + begin) mod extent`.
   */
  readonly rule: "plain" | "window" | "mirror" | "roll";
  /** See `rule`. */
  readonly begin?: number;
  /** See `rule`. */
  readonly extent?: number;
  /** See `rule`; default 1. May be negative for `window`. */
  readonly step?: number;
}

/** A copy: axes outermost first, and the input position for coordinate zero on all axes. */
export interface CopyMap {
  /** Axes of the output. */
  readonly axes: readonly AxisMap[];
  /** First element. */
  readonly base: number;
}

/** Rows, and the number of elements of each row in every part. */
export interface RowParts {
  /** Number of rows. */
  readonly rows: number;
  /** Elements of a row in each part. */
  readonly widths: readonly number[];
}

/**
 * A table seen as `[batch, outer, rows, inner]`; `count` index vectors per batch name rows of it, and the gathered rows
 * are `[batch, outer, count, inner]`.
 */
export interface RowLayout {
  /** Leading axes that indices share. */
  readonly batch: number;
  /** Axes of the table between those and the rows. */
  readonly outer: number;
  /** Extents of the index vectors: their product is the number of rows. */
  readonly dims: readonly number[];
  /** Elements of a row. */
  readonly inner: number;
  /** Index vectors per batch. */
  readonly count: number;
}

/** Numbers of a scatter's inputs. */
export interface ScatterInputs {
  /** The rows to write. */
  readonly rows: number;
  /** Their indices. */
  readonly indices: number;
  /** The initial result; zeros where absent. */
  readonly start?: number;
}
