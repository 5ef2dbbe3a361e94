/** The inside of a program: the plans that are made of its graphs. The address behind `#` names a lesson or holds a program. */
/// <reference lib="dom" />

import { LESSONS, lessonText } from "./lessons.ts";
import type { ProgramMessage } from "./messages.ts";
import { addLine, summaryOf } from "./output.ts";
import { byId, chooseDevice, chosenDevice, ProgramRunner } from "./page.ts";
import { showPictures } from "./pictures/list.ts";
import { packed, unpacked } from "./share.ts";
import { TimelineView } from "./timeline.ts";

const lesson = byId<HTMLSelectElement>("lesson"), plans = byId<HTMLSelectElement>("plans");
const output = byId("output"), picture = byId("picture"), text = byId("text");
const status = byId("status"), stopButton = byId<HTMLButtonElement>("stop");
const fold = byId<HTMLInputElement>("fold"), scopes = byId("scopes");
const shown = { list: plans, picture, text, fold, scopes };

/** The program of the page's own, and one that came with a link. */
const FIRST = "numpy_function", OWN = "own";

/** Lessons that run no graph have no plan to show. */
const EAGER = ["tensors", "ops", "shapes", "memory", "gradients", "custom_gradients", "images"];

let code = "";
const timeline = new TimelineView(byId("timeline"));
const runner = new ProgramRunner(tell);

function tell(message: ProgramMessage): void {
  if (message.kind === "log") addLine(output, message);
  else if (message.kind === "done") {
    // Its timers may go on: it can be stopped still.
    const end = summaryOf(message);
    status.textContent = message.plans.length > 0 ? end : `${end}. It runs no graph`;
    showPictures(message.plans, shown);
    timeline.show(message.timeline);
  }
}

function run(): void {
  output.replaceChildren();
  showPictures([], shown);
  status.textContent = "running…";
  stopButton.disabled = false;
  runner.run({ code, backend: chosenDevice() });
}

async function open(): Promise<void> {
  const hash = location.hash.slice(1);
  const shared = hash.startsWith("code=") ? await unpacked(hash.slice("code=".length)) : null;
  const own = lesson.querySelector<HTMLOptionElement>(`[value=${OWN}]`)!;
  own.hidden = shared === null;
  if (shared === null) {
    lesson.value = LESSONS.some(({ name }) => name === hash) ? hash : FIRST;
    code = await lessonText(lesson.value);
  } else {
    lesson.value = OWN;
    code = shared;
  }
  byId<HTMLAnchorElement>("edit").href = `./playground.html#code=${await packed(code)}`;
  runner.stop();
  if (shared === null || document.referrer.startsWith(`${location.origin}/`)) return run();
  status.textContent = "This program came with a link: read it in the playground, or run it";
}

lesson.append(
  ...LESSONS.filter(({ name }) => !EAGER.includes(name)).map(({ name, title }) =>
    new Option(title, name)
  ),
  new Option("From the playground", OWN),
);
lesson.onchange = () => {
  if (lesson.value !== OWN) location.hash = lesson.value;
};
addEventListener("hashchange", () => void open());
byId("run").onclick = run;
stopButton.onclick = () => {
  runner.stop();
  stopButton.disabled = true;
  status.textContent = "stopped";
};
const device = await chooseDevice();
device.onchange = run;
await open();
