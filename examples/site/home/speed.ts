/** Five rows of the speed page, timed on this machine beside TensorFlow.js when one asks for it. */
/// <reference lib="dom" />

import type { SpeedMessage, SpeedRequest } from "../messages.ts";
import { byId, preferredDevice } from "../page.ts";
import { ROWS } from "../speed_rows.ts";

const SHOWN = ROWS.slice(0, 5);

/** Times the rows; the button is disabled meanwhile. */
export async function timeHere(button: HTMLButtonElement): Promise<void> {
  const status = byId("timed"), body = byId<HTMLTableElement>("times").tBodies[0]!;
  const { backend } = await preferredDevice();
  button.disabled = true;
  status.textContent = "Loading…";
  body.replaceChildren(...SHOWN.map(({ what }) => {
    const row = document.createElement("tr"), head = document.createElement("th");
    head.scope = "row";
    head.textContent = what;
    row.append(head, ...Array.from({ length: 3 }, () => document.createElement("td")));
    return row;
  }));
  const worker = new Worker(new URL("./speed_worker.js", import.meta.url), { type: "module" });
  const end = (text: string): void => {
    worker.terminate();
    status.textContent = text;
    button.disabled = false;
  };
  worker.onerror = (event) => {
    event.preventDefault();
    end(`Ended: ${event.message}`);
  };
  worker.onmessage = ({ data }: MessageEvent<SpeedMessage>) => {
    if (data.kind === "lost") return end(`Ended: ${data.error}`);
    if (data.kind === "system" && data.error) return end(`Ended: ${data.error}`);
    if (data.kind !== "row") return;
    const time = (name: string): number => data.times.find((t) => t.name === name)!.milliseconds;
    const [own, other] = [time("weft"), time("tfjs")];
    const texts = [own, other].map((ms) => ms < 100 ? ms.toPrecision(3) : ms.toFixed(0));
    const ratio = own <= other
      ? `${(other / own).toFixed(1)} × as fast`
      : `${(own / other).toFixed(1)} × slower`;
    [...texts, data.agrees ? ratio : "results differ"].forEach((text, i) =>
      body.rows[data.row]!.cells[i + 1]!.textContent = text
    );
    status.textContent = `${data.row + 1} of ${SHOWN.length}`;
    if (data.row === SHOWN.length - 1) {
      end(`Timed here and now on ${backend === "webgpu" ? "WebGPU" : "the CPU"}`);
    }
  };
  worker.postMessage({ backend, systems: ["weft", "tfjs"] } satisfies SpeedRequest);
}
