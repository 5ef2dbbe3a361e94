// What the demo shows while it runs: the device and why, the progress bar, the chart at the end.

import * as tf from "@weft/weft";
import cliProgress from "cli-progress";
import { drawChart, type Point } from "./chart.ts";

/** The course of the training, for the chart. */
export interface History {
  /** Images seen, and loss of a batch. */
  readonly losses: Point[];
  /** Images seen, and part of the test images recognised. */
  readonly accuracies: Point[];
}

/** Says which device computes, and why that one. */
export function describeDevice(): string {
  const isGpu = tf.getBackend() === "webgpu";
  const devices = tf.listDevices();
  const chosen = devices.find((d) => d.type === (isGpu ? "GPU" : "CPU"))!;
  return `${chosen.name} (${chosen.description}): ${reason(devices, isGpu)}`;
}

function reason(devices: ReturnType<typeof tf.listDevices>, isGpu: boolean): string {
  const gpu = devices.find((d) => d.type === "GPU");
  if (Deno.env.get("WEFT_DEVICE")) return `WEFT_DEVICE=${Deno.env.get("WEFT_DEVICE")} asks for it`;
  if (isGpu) return "it is a GPU";
  if (!gpu) return "WebGPU has no adapter here";
  return `the only GPU adapter, ${gpu.description}, is emulated on the processor, which is slower`;
}

/** A progress bar over the images of the training. */
export interface Progress {
  /** Shows how far it is, now and then. */
  update(done: number, epoch: string, loss: number): Promise<void>;
  /** Leaves the bar as it is. */
  stop(): void;
}

/** Makes a progress bar; where the output is no terminal, a line every few seconds. */
export function progressBar(total: number): Progress {
  const bar = new cliProgress.SingleBar({
    format:
      " {bar} {percentage}% | epoch {epoch} | loss {loss} | {rate} images/s | {eta_formatted} left",
    barsize: 24,
    etaBuffer: 100,
    hideCursor: true,
    noTTYOutput: true,
    notTTYSchedule: 5000,
  }, cliProgress.Presets.shades_classic);
  const start = performance.now();
  let shown = start;
  bar.start(total, 0, { epoch: "1", loss: "-", rate: "-" });
  return {
    async update(done, epoch, loss) {
      const now = performance.now();
      if (now - shown < 100 && done < total) return;
      shown = now;
      const rate = Math.round(done / (now - start) * 1000).toLocaleString("en");
      bar.update(done, { epoch, loss: loss.toFixed(3), rate });
      // The bar draws itself on a timer, which only runs when this thread is free.
      await new Promise((free) => setTimeout(free));
    },
    stop: () => bar.stop(),
  };
}

/** The learning curve as SVG. */
export function learningCurve({ losses, accuracies }: History, subtitle: string): string {
  const percent = (v: number) => `${Number((100 * v).toPrecision(4))} %`;
  return drawChart({
    title: "A small convolutional network learns MNIST",
    subtitle,
    horizontal: "training images seen",
    panels: [{
      title: "Loss",
      logarithmic: true,
      series: [
        { name: "each batch", points: losses, color: "#2f6fb2", faint: true },
        { name: "running mean", points: runningMean(losses), color: "#2f6fb2" },
      ],
    }, {
      title: "Accuracy on the 10,000 test images",
      format: percent,
      limits: [0, 1],
      series: [{ name: "test", points: accuracies, color: "#c2571a", dots: true }],
    }],
  });
}

/** An exponential mean; of the first values the plain one. */
function runningMean(points: readonly Point[]): Point[] {
  let mean = 0;
  return points.map(([x, y], i) => [x, mean += Math.max(0.06, 1 / (i + 1)) * (y - mean)]);
}
