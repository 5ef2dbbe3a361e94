/** Connects what needs no graph: eager execution, methods of tensors, tensors of GPU buffers. Bundlers' pages begin with it. */
import { wholeLibrary } from "../core/tensor.ts";
import { tensorOfGpuData } from "./eager/gpu_memory.ts";
import { evaluate } from "./run/default_session.ts";
import "../devices/cpu/all_kernels.ts";
import "./install_eager.ts";
import "../ops/chained.ts";

wholeLibrary.provide({ evaluate, tensorOfGpuData });
