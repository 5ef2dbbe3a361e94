/** Connects the parts when the library is loaded: what needs no graph, and hooks of graphs. */
import { wholeLibrary } from "../core/tensor.ts";
import { cond } from "./control/cond.ts";
import { mapFn } from "./control/functional_ops.ts";
import { followDebugVariable } from "./debug.ts";
import { evaluateNow } from "./session/evaluate.ts";
import "./install_values.ts";
import "../ops/graph_ops.ts";

followDebugVariable();
wholeLibrary.to("connect graphs").graphs = {
  cond,
  evaluateNow,
  mapRows: (fn, rows) => mapFn(fn, rows),
};
