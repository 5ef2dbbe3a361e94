/** Connects the parts when the library is loaded: eager execution, tensor methods, and hooks of graphs. */
import { wholeLibrary } from "../core/tensor.ts";
import { followDebugVariable } from "./debug.ts";
import { mapFn } from "./control/functional_ops.ts";
import { tensorOfGpuData } from "./eager/gpu_memory.ts";
import { evaluate } from "./run/default_session.ts";
import { evaluateNow } from "./session/evaluate.ts";
import "../devices/cpu/all_kernels.ts";
import "./install_eager.ts";
import "../ops/chained.ts";
import "../ops/graph_ops.ts";

followDebugVariable();
wholeLibrary.provide({
  evaluate,
  evaluateNow,
  mapRows: (fn, rows) => mapFn(fn, rows),
  tensorOfGpuData,
});
