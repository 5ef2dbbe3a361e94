/** Tasks of a cluster: their addresses, the names of their devices, and what `TF_CONFIG` says of them. */
import { NotFoundError, ValueError } from "../../engine/core/errors.ts";
import { type DeviceSpec, parseDevice } from "../../engine/runtime/devices/devices.ts";
import { environment } from "../../engine/runtime/devices/environment.ts";

/** Addresses of tasks by job, as lists or by number. Follows TensorFlow `tf.train.ClusterSpec`. */
export type ClusterSpec = Readonly<
  Record<string, readonly string[] | Readonly<Record<number, string>>>
>;

export interface TaskName {
  readonly job: string;
  readonly task: number;
}

/** `/job:worker/replica:0/task:0`. */
export function taskText({ job, task }: TaskName): string {
  return `/job:${job}/replica:0/task:${task}`;
}

/** Returns the task that a device belongs to; `home` fills in what its name leaves out. */
export function taskOf(device: string, home: TaskName): TaskName {
  const { job = home.job, task } = parseDevice(device);
  return { job, task: task ?? (job === home.job ? home.task : 0) };
}

/** Returns the part of a device's name that says which it is within its task; empty for any. */
export function withinTask(device: string): string {
  const { type, index = 0 }: DeviceSpec = parseDevice(device);
  return type === undefined ? "" : `/device:${type === "WEBGPU" ? "GPU" : type}:${index}`;
}

/** Returns the address of a task. Throws `NotFoundError` for a task that the cluster lacks. */
export function addressOf(cluster: ClusterSpec, { job, task }: TaskName): string {
  const address = (cluster[job] as Readonly<Record<number, string>> | undefined)?.[task];
  if (typeof address === "string") return address;
  throw new NotFoundError(
    `Cannot find task ${task} of job "${job}": the cluster has ${
      Object.entries(cluster).map(([name, tasks]) => `${name}: ${Object.keys(tasks)}`).join("; ")
    }`,
  );
}

/** Splits an address into host and port. Throws `ValueError` for other text. */
export function hostAndPort(address: string): { host: string; port: number } {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  if (port !== undefined) return { host, port: Number(port) };
  throw new ValueError(`Cannot read the address "${address}": wanted "host:port"`);
}

/** A task's own name and the addresses of its cluster. */
export interface TaskConfig extends TaskName {
  readonly cluster: ClusterSpec;
}

/** Reads `TF_CONFIG`, from the environment where no text is given. Throws `ValueError` where it does not name a task of its cluster. */
export function readTaskConfig(given: string | undefined = environment("TF_CONFIG")): TaskConfig {
  const wrong = (what: string): ValueError =>
    new ValueError(
      `Cannot read TF_CONFIG: ${what}, wanted {"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}`,
    );
  if (given === undefined || given === "") throw wrong("it is not set");
  let config: { cluster?: ClusterSpec; task?: { type?: unknown; index?: unknown } };
  try {
    config = JSON.parse(given);
  } catch (e) {
    throw wrong((e as Error).message);
  }
  const { cluster, task } = config ?? {};
  if (typeof cluster !== "object" || cluster === null) throw wrong("it has no cluster");
  const job = task?.type, index = Number(task?.index ?? NaN);
  if (typeof job !== "string" || !Number.isInteger(index)) throw wrong("it names no task");
  try {
    addressOf(cluster, { job, task: index });
  } catch (e) {
    throw wrong((e as Error).message);
  }
  return { cluster, job, task: index };
}
