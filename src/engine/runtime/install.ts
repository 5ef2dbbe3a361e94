/** Connects the parts when the library is loaded: eager execution, tensor methods, and hooks of graphs. */
import { expandFusion } from "../ops/fused/fused.ts";
import { setRowMapper } from "../autodiff/jacobians.ts";
import { setTapeMemory } from "../autodiff/step_recorder.ts";
import { installChainedOps } from "../ops/chained.ts";
import { installDebug } from "./debug.ts";
import { setFusionExpansion } from "./eager/eager.ts";
import { mapFn } from "./control/functional_ops.ts";
import { variablesRead } from "./functions/run_tape.ts";
import "../devices/cpu/all_kernels.ts";
import "./session/evaluate.ts";
import "./install_eager.ts";
import "./run/default_session.ts";
import "../ops/graph_ops.ts";

installDebug();
installChainedOps();
setFusionExpansion(expandFusion);
setTapeMemory({ variablesRead });
setRowMapper((fn, rows) => mapFn(fn, rows));
