/** Writes functions of Weft's as graphs of ONNX: each node by its rule, its expression, its reduction, or its parts. */
import { DTYPES, isShort } from "../../engine/core/dtype.ts";
import type { MeaningOf } from "../../engine/core/meaning.ts";
import { argument } from "../../engine/core/scalar/expr.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { type Attrs, inferOutputs, type OpDef, type OpInit } from "../../engine/core/op.ts";
import type { FuncGraph } from "../../engine/graph/func_graph.ts";
import { buildIr, type IrGraph, type IrNode, type IrValue } from "../../engine/graph/ir.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import type { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import { foldOrdinary } from "../../engine/runtime/plan/folder.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { resourceOf } from "../../engine/core/graph_node.ts";
import { buildParts } from "../../tensorflow/graph_def/portable_build.ts";
import { Constants, type GraphBuilder, Names } from "./builder.ts";
import { addConstant, writeComplex } from "./complex.ts";
import { countOf, writeExpr, writeWide } from "./expressions.ts";
import { reduceNode } from "./reductions.ts";
import { inTheirLayout } from "./layout.ts";
import { type Bodies, NoCounterpart, NodeWriter, type Target } from "./node_writer.ts";
import type { WriteRules } from "./rule.ts";
import { Ref } from "./ref.ts";

/** A node that ONNX has no counterpart of. */
export interface UnportableOnnxNode {
  /** Its name. */
  readonly node: string;
  /** Its op. */
  readonly op: string;
  /** The function that contains it; absent for a node of the written function itself. */
  readonly function?: string;
  /** The reason. */
  readonly reason: string;
}

/** The table of rules. */
export interface Tables {
  readonly rules: WriteRules;
  /** Rules of ops on complex numbers that are neither moved nor computed one by one. */
  readonly complex: WriteRules;
  /** Expansions of ops that are not Weft's own, by op. */
  readonly parts: Readonly<Record<string, NonNullable<OpInit["expand"]>>>;
}

/** A variable as the writer knows it. */
export interface VariableState {
  readonly sharedName: string;
  readonly value: Tensor;
}

export interface WriterOptions {
  readonly tables: Tables;
  readonly opset: number;
  readonly scripts: string | null;
  /** Names of variables in the file, where they are not their own. */
  readonly variableNames: ReadonlyMap<unknown, string>;
  /** Reads a tensor's elements. */
  readonly read: (t: Tensor) => NdArray;
}

/** Effects that a file goes without. */
const DROPPED: ReadonlySet<string> = new Set(["Assert", "NoOp", "PrintV2", "CheckNumerics"]);

/** Ops that hand on what their functions or inputs give. */
const PASSING: ReadonlySet<string> = new Set([
  "Identity",
  "PartitionedCall",
  "StatefulPartitionedCall",
]);

/** Writes one file. */
export class ModelWriter implements Bodies {
  readonly names: Names = new Names();
  readonly constants: Constants = new Constants(this.names);
  readonly unportable: UnportableOnnxNode[] = [];
  readonly target: Target;
  readonly #options: WriterOptions;
  readonly #variables = new Map<unknown, Ref>();
  readonly #captured = new Map<Tensor, Ref>();
  /** Results that the nodes of ONNX do not have: tapes of branches, loops and scripts. */
  readonly #hidden = new WeakSet<Ref>();
  /** The functions around the one that is written. */
  readonly #around: string[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
    const { opset, scripts } = options;
    this.target = {
      opset,
      scripts,
      names: this.names,
      constants: this.constants,
      bodies: this,
      domains: new Set(),
    };
  }

  /** Writes the body of a function of these arguments into a graph. */
  function(graph: FuncGraph, args: readonly Ref[], into: GraphBuilder): Ref[] {
    return this.#body(graph, graph.outputs, args, into, "");
  }

  call(f: unknown, args: readonly Ref[], into: NodeWriter): Ref[] {
    const { graph, outputs } = f as ConcreteFunction;
    this.#around.push(graph.name);
    try {
      return this.#body(
        graph,
        outputs,
        args,
        into.graph,
        this.#around.length === 1 ? "" : `${into.name}/`,
      );
    } finally {
      this.#around.pop();
    }
  }

  apply(def: OpDef, inputs: readonly Ref[], given: Attrs, into: NodeWriter): Ref[] {
    const specs = inputs.map((x) => ({
      dtype: x.dtype,
      shape: x.shape,
      ...(x.known !== null && { value: x.known }),
    }));
    const { attrs, outputs } = inferOutputs(def, specs, given);
    const node = { name: into.name, def, attrs, inputs, outputs };
    return this.#write(new NodeWriter(this.target, into.graph, node));
  }

  #body(
    graph: FuncGraph,
    outputs: readonly SymbolicTensor[],
    args: readonly Ref[],
    into: GraphBuilder,
    scope: string,
  ): Ref[] {
    for (const effect of graph.effects) this.#checkEffect(effect);
    const fed = [...graph.inputs, ...graph.captures.map((c) => c.inner)];
    const captured = graph.captures.map((c, i) =>
      args[graph.inputs.length + i] ?? this.#capture(c.outer)
    );
    const ir = foldOrdinary(buildIr({ fetches: outputs, targets: [], feeds: fed }));
    return this.#graph(ir, [...args.slice(0, graph.inputs.length), ...captured], into, scope);
  }

  #checkEffect(effect: Operation): void {
    const { type, def } = effect;
    if (DROPPED.has(type) || def.signature.attrDefs.some((a) => a.type === "func")) return;
    if (this.#options.tables.rules[type] !== undefined || type.includes("PyFunc")) return;
    this.#note(
      effect.name,
      type,
      /^(Assign|Resource)/.test(type)
        ? "ONNX has no variables that a run changes"
        : "ONNX has no ops with effects",
    );
  }

  #note(node: string, op: string, reason: string): void {
    const f = this.#around.slice(1).at(-1);
    this.unportable.push({ node, op, ...(f !== undefined && { function: f }), reason });
  }

  /** Writes the nodes of a graph and returns its results. */
  #graph(ir: IrGraph, fed: readonly Ref[], into: GraphBuilder, scope: string): Ref[] {
    const values = new Map<IrValue, Ref>();
    for (const node of ir.nodes) {
      if (node.feed >= 0) values.set(node.outputs[0], withShapeOf(fed[node.feed], node.outputs[0]));
      else this.#node(node, values, into, scope);
    }
    return ir.fetches.map((v) => values.get(v)!);
  }

  #node(node: IrNode, values: Map<IrValue, Ref>, into: GraphBuilder, scope: string): void {
    const { def, attrs } = node, name = scope + node.name;
    const results = this.#state(node, name) ?? this.#tried(
      new NodeWriter(this.target, into, {
        name,
        def,
        attrs,
        inputs: node.inputs.map((v) => values.get(v)!),
        outputs: node.outputs,
      }),
    );
    node.outputs.forEach((v, i) => {
      const ref = withShapeOf(results[i] ?? new Ref("", v.dtype, v.shape), v);
      if (results.length > 0 && results[i] === undefined) this.#hidden.add(ref);
      values.set(v, ref);
    });
  }

  /** Returns the value of a constant, a handle or a read of a variable; null for other nodes. */
  #state({ def, attrs, inputs }: IrNode, name: string): Ref[] | null {
    if (def.meaning.kind === "constant") {
      const value = attrs.value as NdArray;
      return [addConstant(this.constants, value, name)];
    }
    if (def.name === "VarHandleOp") return [new Ref("", "resource", [])];
    if (def.name !== "ReadVariableOp") return null;
    const { node: handle } = inputs[0];
    const state = handle.attrs._resource as VariableState | null;
    return state === null || handle.def.name !== "VarHandleOp" ? null : [this.variable(state)];
  }

  /** Returns the initialiser of a variable. */
  variable(state: VariableState): Ref {
    let ref = this.#variables.get(state);
    if (ref === undefined) {
      const name = this.#options.variableNames.get(state) ?? state.sharedName;
      const array = this.#options.read(state.value);
      this.#variables.set(
        state,
        ref = addConstant(this.constants, array, name, { isShared: false }),
      );
    }
    return ref;
  }

  #capture(outer: Tensor): Ref {
    const state = outer.dtype === "resource" ? resourceOf(outer) : null;
    if (state !== null) return new Ref("", "resource", []);
    let ref = this.#captured.get(outer);
    if (ref === undefined) {
      ref = addConstant(this.constants, this.#options.read(outer), "captured");
      this.#captured.set(outer, ref);
    }
    return ref;
  }

  /** Writes a node, or notes that it has no counterpart. */
  #tried(n: NodeWriter): readonly Ref[] {
    if (n.xs.some((x) => this.#hidden.has(x))) {
      this.#note(n.name, n.def.name, "ONNX has no steps of branches, loops and scripts");
      return [];
    }
    const missing = n.xs.some((x) => x.name === "" && x.parts === null && x.dtype !== "resource");
    if (missing) return [];
    try {
      return this.#write(n);
    } catch (e) {
      if (!(e instanceof NoCounterpart)) throw e;
      this.#note(n.name, n.def.name, e.message);
      return [];
    }
  }

  #write(n: NodeWriter): Ref[] {
    const { def } = n, { rules, parts } = this.#options.tables;
    const rule = Object.hasOwn(rules, def.name) ? rules[def.name] : undefined;
    if (typeof rule === "string") return n.lacks(rule);
    const isComplex = [...n.xs, ...n.outputs].some((x) => DTYPES[x.dtype].kind === "complex");
    const made = isComplex && !PASSING.has(def.name)
      ? writeComplex(n, this.#options.tables.complex, (part) => this.#write(part))
      : rule?.(n) ?? null;
    if (made !== null) return made instanceof Ref ? [made] : [...made];
    const { meaning } = def;
    if (!isComplex && meaning.kind === "pointwise") return pointwise(n);
    if (!isComplex && meaning.kind === "reduce") return [reduceNode(n, meaning)];
    const expansion = Object.hasOwn(parts, def.name) ? parts[def.name] : def.expand;
    if (expansion !== undefined) return this.#parts(n, expansion);
    const { portable } = def;
    return n.lacks(
      typeof portable === "object" && "never" in portable
        ? portable.never
        : isComplex
        ? "ONNX has no complex numbers, and it is not written by their parts"
        : "ONNX has no counterpart of it",
    );
  }

  /** Writes what an op is made of. */
  #parts(n: NodeWriter, expansion: NonNullable<OpInit["expand"]>): Ref[] {
    let built: { outputs: readonly SymbolicTensor[]; inputs: readonly (SymbolicTensor | null)[] };
    try {
      built = buildParts({
        def: n.def,
        attrs: n.attrs,
        inputs: n.xs.map(({ dtype, shape }) => ({ dtype, staticShape: shape })),
        known: (i) => n.xs[i].known ?? undefined,
      }, expansion);
    } catch (e) {
      return n.lacks(
        `its parts depend on what is not known before it runs (${(e as Error).message})`,
      );
    }
    const feeds = built.inputs.flatMap((t) => t === null ? [] : [t]);
    const fed = n.xs.filter((_, i) => built.inputs[i] !== null);
    const ir = foldOrdinary(buildIr({ fetches: built.outputs, targets: [], feeds }));
    const values = new Map<IrValue, Ref>();
    for (const node of ir.nodes) {
      if (node.feed >= 0) {
        values.set(node.outputs[0], withShapeOf(fed[node.feed], node.outputs[0]));
        continue;
      }
      const state = this.#state(node, n.name);
      const part = new NodeWriter(this.target, n.graph, {
        name: `${n.name}/${node.name}`,
        def: node.def,
        attrs: node.attrs,
        inputs: node.inputs.map((v) => values.get(v)!),
        outputs: node.outputs,
      });
      const results = state ?? inPart(node, () => this.#write(part));
      node.outputs.forEach((v, i) => values.set(v, withShapeOf(results[i], v)));
    }
    return ir.fetches.map((v) => values.get(v)!);
  }
}

/** Names the part in a refusal. */
function inPart<T>(node: IrNode, write: () => T): T {
  try {
    return write();
  } catch (e) {
    if (!(e instanceof NoCounterpart)) throw e;
    const at = `of its part ${node.def.name}: `;
    throw new NoCounterpart(e.message.startsWith("of its part") ? e.message : at + e.message);
  }
}

function withShapeOf(ref: Ref, { shape }: IrValue): Ref {
  return ref.withShape(shape);
}

/** Writes the expressions of a pointwise op. Several primitives on halves are computed in float32 and rounded once. */
function pointwise(n: NodeWriter): Ref[] {
  const { meaning } = n.def as OpDef & { meaning: MeaningOf<"pointwise"> };
  const exprs = meaning.exprs(n.xs.map((_, i) => argument(i)), n.attrs);
  return exprs.map((expr, k) => {
    const { dtype } = n.outputs[k], wide = countOf(expr) > 1 && isShort(dtype);
    return inTheirLayout(n, n.xs, (xs) => {
      return n.cast(wide ? writeWide(n, expr, xs) : writeExpr(n, expr, xs, dtype), dtype);
    });
  });
}
