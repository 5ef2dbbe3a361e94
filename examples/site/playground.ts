/** The playground: a program, its output and its graph. The address behind `#` names a lesson or holds a program. */
/// <reference lib="dom" />

import { Editor } from "./editing/editor.ts";
import { LESSONS, lessonText } from "./lessons.ts";
import type { ProgramMessage } from "./messages.ts";
import { addLine, summaryOf } from "./output.ts";
import { byId, chooseDevice, chosenDevice, ProgramRunner } from "./page.ts";
import { showPictures } from "./pictures/list.ts";
import { packed, unpacked } from "./share.ts";
import { TimelineView } from "./timeline.ts";

const code = byId<HTMLTextAreaElement>("code");
const lesson = byId<HTMLSelectElement>("lesson");
const graphs = byId<HTMLSelectElement>("graphs");
const output = byId("output"), picture = byId("picture"), status = byId("status");
const runButton = byId<HTMLButtonElement>("run"), stopButton = byId<HTMLButtonElement>("stop");

const fold = byId<HTMLInputElement>("fold"), scopes = byId("scopes");
const shown = { list: graphs, picture, fold, scopes };

const timeline = new TimelineView(byId("timeline"));
const editor = new Editor(code, run), again = byId<HTMLButtonElement>("again");
const runner = new ProgramRunner(tell);

function tell(message: ProgramMessage): void {
  if (message.kind === "log") {
    const { line, text } = message;
    addLine(output, message);
    if (line !== undefined) editor.mark({ line, text });
  } else if (message.kind === "done") {
    // Its timers may go on: it can be stopped still.
    status.textContent = summaryOf(message);
    byId("no-graph").hidden = message.graphs.length > 0;
    showPictures(message.graphs, shown);
    timeline.show(message.timeline);
  }
}

function run(): void {
  output.replaceChildren();
  showPictures([], shown);
  byId("no-graph").hidden = true;
  editor.unmark();
  status.textContent = "running…";
  stopButton.disabled = false;
  runner.run({ code: code.value, backend: chosenDevice() });
}

function stop(): void {
  if (!runner.stop()) return;
  stopButton.disabled = true;
  status.textContent = "stopped";
}

/** Shows what the address names. A program that came with a link waits to be read before it is run. */
async function open(): Promise<void> {
  const hash = location.hash.slice(1);
  const shared = hash.startsWith("code=") ? await unpacked(hash.slice("code=".length)) : null;
  stop();
  if (shared !== null) {
    lesson.value = "";
    editor.set(kept() ?? shared);
    output.replaceChildren();
    showPictures([], shown);
    status.textContent = "This program came with the link: read it, then run it";
  } else {
    const { name } = LESSONS.find(({ name }) => name === hash) ?? LESSONS[0]!;
    lesson.value = name;
    editor.set(kept() ?? await lessonText(name));
    run();
  }
  again.disabled = kept() === null;
  await link();
}

/** The key under which the browser keeps what was changed in the program that the address names, while the page is open, also through reloads. */
const keptAs = (): string => `program${location.hash}`;

const kept = (): string | null => sessionStorage.getItem(keptAs());

function keep(): void {
  sessionStorage.setItem(keptAs(), code.value);
  again.disabled = false;
}

async function link(): Promise<string> {
  const hash = `#code=${await packed(code.value)}`;
  byId<HTMLAnchorElement>("inside").href = `./inside.html${hash}`;
  return hash;
}

async function share(): Promise<void> {
  const url = new URL(await link(), location.href);
  history.replaceState(null, "", url);
  // The address is now the program as it is.
  again.disabled = true;
  try {
    await navigator.clipboard.writeText(url.href);
    status.textContent = "The link is in the clipboard";
  } catch {
    status.textContent = "The link is in the address bar";
  }
}

lesson.append(...LESSONS.map(({ name, title }) => new Option(title, name)));
lesson.onchange = () => {
  location.hash = lesson.value;
};
addEventListener("hashchange", () => void open());
code.addEventListener("input", () => {
  keep();
  void link();
});
again.onclick = () => {
  sessionStorage.removeItem(keptAs());
  void open();
};
runButton.onclick = run;
stopButton.onclick = stop;
byId("share").onclick = () => void share();
const device = await chooseDevice();
device.onchange = run;
await open();
