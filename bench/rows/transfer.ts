// Moving data to a device and back, with one addition in between so that the copy must really happen.

import type { JaxPeer } from "../peers/jax.ts";
import { type Tf, tfOutput } from "../peers/tfjs.ts";
import { weftOutput } from "../peers/weft.ts";
import { normals, spread } from "../random.ts";
import type { Case, Check, Output, Row } from "../row.ts";

const KIB = 1024;

const SIZES = [
  { label: "4 KiB", bytes: 4 * KIB },
  { label: "1 MiB", bytes: KIB ** 2 },
  { label: "16 MiB", bytes: 16 * KIB ** 2 },
  { label: "256 MiB", bytes: 256 * KIB ** 2, heavy: true },
];

function check(size: number): Check {
  return {
    expected() {
      const values = normals(size, 1);
      return spread(size).map((index) => ({ index, value: values[index]! + 1 }));
    },
  };
}

function uploadTf(tf: Tf, size: number, wrap: (tensor: ReturnType<Tf["add"]>) => Output): Case {
  const values = normals(size, 1);
  return {
    call: () => wrap(tf.tidy(() => tf.add(tf.tensor(values, [size / KIB, KIB]), 1))),
  };
}

function uploadJax({ array, start }: JaxPeer, size: number): Case {
  const values = normals(size, 1);
  return { call: () => start(array(values, [size / KIB, KIB]).add(1)) };
}

function downloadTf(tf: Tf, size: number): Case {
  const x = tf.tensor(normals(size, 1), [size / KIB, KIB]);
  return {
    async call(): Promise<Output> {
      const y = tf.add(x, 1);
      const values = await y.data();
      y.dispose();
      return { data: () => Promise.resolve(values), dispose() {} };
    },
    dispose: () => x.dispose(),
  };
}

function downloadJax({ array }: JaxPeer, size: number): Case {
  const x = array(normals(size, 1), [size / KIB, KIB]);
  return {
    async call(): Promise<Output> {
      const values = await x.ref.add(1).data() as ArrayLike<number>;
      return { data: () => Promise.resolve(values), dispose() {} };
    },
    dispose: () => x.dispose(),
  };
}

function rowsOf({ label, bytes, heavy = false }: typeof SIZES[number]): Row[] {
  const size = bytes / Float32Array.BYTES_PER_ELEMENT;
  const id = label.replaceAll(" ", "").toLowerCase();
  return [
    {
      id: `upload_${id}`,
      what: `upload ${label} and add 1`,
      bytes,
      heavy,
      devices: ["webgpu"],
      weft: ({ tf }) => uploadTf(tf, size, (tensor) => weftOutput(tf, tensor)),
      tfjs: ({ tf }) => uploadTf(tf, size, tfOutput),
      jax: (peer) => uploadJax(peer, size),
      check: check(size),
    },
    {
      id: `download_${id}`,
      what: `add 1 and download ${label}`,
      bytes,
      heavy,
      devices: ["webgpu"],
      readsBack: true,
      weft: ({ tf }) => downloadTf(tf, size),
      tfjs: ({ tf }) => downloadTf(tf, size),
      jax: (peer) => downloadJax(peer, size),
      check: check(size),
    },
  ];
}

/** Rows of this file. */
export const TRANSFER_ROWS: readonly Row[] = SIZES.flatMap(rowsOf);
