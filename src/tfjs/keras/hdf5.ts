/**
 * HDF5 files as h5py writes them by default, read without copies of what is not asked for: groups, attributes of text,
 * arrays whole or in chunks (deflated, shuffled). What Keras does not write throws `UnimplementedError`, damage `DataLossError`.
 */
import { DTYPES, withinMemory } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { arrayFromBytes, checkBytes } from "../../library/io/bytes.ts";
import { DEFLATE, FLETCHER, place, SHUFFLE, unfiltered } from "./hdf5_chunks.ts";
import {
  Cursor,
  damaged,
  type ElementType,
  HDF5,
  readShape,
  readTexts,
  readType,
  text,
  unsupported,
} from "./hdf5_types.ts";

/** Messages of an object, by the numbers of the format. */
const SPACE = 1, LINK_INFO = 2, TYPE = 3, LINK = 6, LAYOUT = 8, FILTERS = 11, ATTRIBUTE = 12;
const CONTINUED = 16, SYMBOLS = 17, ATTRIBUTE_INFO = 21;
/** Deflate's best: a match of 258 bytes for two bits. */
const MOST_INFLATED = 1032;
/** Groups within groups, which nested models make. */
const DEEPEST = 100;

interface Message {
  readonly type: number;
  readonly cursor: Cursor;
}

/** An HDF5 file in memory. */
class File {
  readonly bytes: Uint8Array;
  /** Reads of nodes, blocks and heaps, bounded by the size of the file: structures that lead to themselves end. */
  #reads: number;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#reads = 1000 + (bytes.length >> 3);
  }

  /** Returns a cursor at an address. */
  at(address: number | null, length?: number): Cursor {
    if (address === null) throw damaged("an address leads nowhere");
    if (--this.#reads < 0) throw damaged("its structures lead to themselves");
    return new Cursor(this.bytes, address, length === undefined ? undefined : address + length);
  }

  /** Address of the root group. */
  root(): number {
    const cursor = this.at(0);
    const signature = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];
    if (!cursor.take(8).every((byte, i) => byte === signature[i])) {
      throw damaged("it does not begin as HDF5 files do");
    }
    const version = cursor.uint(1);
    if (version > 3) throw unsupported(`superblock version ${version}`);
    if (version < 2) cursor.take(4);
    const [offsets, lengths] = [cursor.uint(1), cursor.uint(1)];
    if (offsets !== 8 || lengths !== 8) throw unsupported(`addresses of ${offsets} bytes`);
    cursor.take(version > 1 ? 1 : version === 1 ? 13 : 9);
    if (cursor.address() !== 0) throw unsupported("a base address");
    cursor.take(16 + (version < 2 ? 16 : 0));
    const root = cursor.address();
    if (root === null) throw damaged("it has no root group");
    return root;
  }

  /** Reads the messages of an object's header. */
  messages(address: number): Message[] {
    const cursor = this.at(address), found: Message[] = [];
    const isNew = text(this.bytes.subarray(address, address + 4)) === "OHDR";
    let ordered = false;
    let length: number;
    if (isNew) {
      cursor.take(5);
      const flags = cursor.uint(1);
      ordered = (flags & 4) !== 0;
      cursor.take((flags & 32 ? 16 : 0) + (flags & 16 ? 4 : 0));
      const width = 1 << (flags & 3);
      length = width === 8 ? cursor.length() : cursor.uint(width as 1 | 2 | 4);
    } else {
      const version = cursor.uint(1);
      if (version !== 1) throw damaged(`byte ${address} begins no object`);
      cursor.take(7);
      length = cursor.uint(4);
      cursor.take(4);
    }
    const blocks: Cursor[] = [this.at(cursor.at, length)];
    for (const block of blocks) {
      while (block.left >= (isNew ? 4 : 8)) {
        const type = block.uint(isNew ? 1 : 2), size = block.uint(2);
        block.take(isNew ? (ordered ? 3 : 1) : 4);
        const body = this.at(block.at, size);
        block.take(size);
        if (type !== CONTINUED) found.push({ type, cursor: body });
        else {
          const next = body.address(), bytes = body.length();
          if (isNew) {
            this.at(next).want("OCHK");
            if (bytes < 8) throw damaged("a block of messages is too short");
            blocks.push(this.at(next! + 4, bytes - 8));
          } else blocks.push(this.at(next, bytes));
        }
      }
    }
    return found;
  }

  /** Reads the addresses of a group's members by name, from a B-tree and a heap of names. */
  symbols(cursor: Cursor): Map<string, number> {
    const found = new Map<string, number>(), nodes = [cursor.address()];
    const heap = this.at(cursor.address());
    heap.want("HEAP");
    heap.take(4);
    const size = heap.length();
    heap.take(8);
    const names = this.at(heap.address(), size);
    const base = names.at;
    for (const address of nodes) {
      const node = this.at(address);
      if (text(node.bytes.subarray(node.at, node.at + 4)) === "TREE") {
        nodes.push(...this.#children(node, 0, 8).map(({ child }) => child));
        continue;
      }
      node.want("SNOD");
      node.take(2);
      for (let left = node.uint(2); left > 0; left--) {
        const name = node.length(), target = node.address();
        node.take(24);
        if (name >= size) throw damaged("a name of a group is not in it");
        if (target !== null) found.set(text(names.bytes.subarray(base + name)), target);
      }
    }
    return found;
  }

  /** Reads a node of a B-tree of chunks or members: keys and children. */
  #children(
    node: Cursor,
    type: number,
    key: number,
  ): { key: Cursor; child: number; level: number }[] {
    node.want("TREE");
    if (node.uint(1) !== type) throw damaged("a node of a tree has another kind");
    const level = node.uint(1), count = node.uint(2);
    node.take(16);
    return Array.from({ length: count }, () => {
      const from = this.at(node.at, key);
      node.take(key);
      const child = node.address();
      if (child === null) throw damaged("a tree has no child where it says so");
      return { key: from, child, level };
    });
  }

  /** Reads an array in chunks. */
  chunks(
    cursor: Cursor,
    shape: readonly number[],
    size: number,
    filters: readonly number[],
  ): Uint8Array {
    const rank = cursor.uint(1) - 1, root = cursor.address();
    if (rank !== shape.length) throw damaged("its chunks have another rank than their array");
    const chunk = shape.map(() => cursor.uint(4));
    const bytes = shape.reduce((a, b) => a * b, size), each = chunk.reduce((a, b) => a * b, size);
    if (bytes > MOST_INFLATED * this.bytes.length || each > MOST_INFLATED * this.bytes.length) {
      throw damaged(`an array of ${bytes} bytes is more than it can hold`);
    }
    if (each === 0) throw damaged("its chunks are empty");
    const out = withinMemory(bytes, () => new Uint8Array(bytes));
    const nodes = root === null ? [] : [root];
    let room = MOST_INFLATED * this.bytes.length;
    for (const address of nodes) {
      for (const { key, child, level } of this.#children(this.at(address), 1, 8 * rank + 16)) {
        if (level > 0) {
          nodes.push(child);
          continue;
        }
        const stored = key.uint(4), skipped = key.uint(4);
        const origin = shape.map(() => key.length());
        room -= each;
        if (room < 0) throw damaged("its chunks are more than it can hold");
        const packed = this.at(child, stored).take(stored);
        place(out, unfiltered(packed, each, size, filters, skipped), {
          shape,
          chunk,
          origin,
          size,
        });
      }
    }
    return out;
  }
}

/** A group or an array of a file, read when it is asked for. */
export class Hdf5Node {
  readonly #file: File;
  readonly #messages: readonly Message[];
  readonly #depth: number;
  #members: Map<string, number> | undefined;
  /** Path in errors. */
  readonly path: string;

  /** Opened by {@linkcode openHdf5}. */
  constructor(file: File, address: number, path: string, depth = 0) {
    if (depth > DEEPEST) throw damaged(`its groups lie more than ${DEEPEST} deep`);
    this.#file = file;
    this.#messages = file.messages(address);
    this.#depth = depth;
    this.path = path;
  }

  #find(type: number): Cursor | undefined {
    const found = this.#messages.find((m) => m.type === type)?.cursor;
    return found && new Cursor(found.bytes, found.at);
  }

  /** True for an array, false for a group. */
  get isArray(): boolean {
    return this.#find(SPACE) !== undefined;
  }

  #addresses(): Map<string, number> {
    if (this.#members) return this.#members;
    const symbols = this.#find(SYMBOLS);
    const found = symbols ? this.#file.symbols(symbols) : new Map<string, number>();
    const info = this.#find(LINK_INFO);
    if (info) {
      info.take(1);
      info.take(info.uint(1) & 1 ? 8 : 0);
      if (info.address() !== null) throw unsupported("a group whose members lie in a fractal heap");
    }
    for (const { type, cursor } of this.#messages) {
      if (type !== LINK) continue;
      const link = new Cursor(cursor.bytes, cursor.at);
      link.take(1);
      const flags = link.uint(1), kind = flags & 8 ? link.uint(1) : 0;
      link.take((flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0));
      const width = 1 << (flags & 3);
      const name = text(link.take(width === 8 ? link.length() : link.uint(width as 1 | 2 | 4)));
      const target = kind === 0 ? link.address() : null;
      if (target !== null) found.set(name, target);
    }
    return this.#members = found;
  }

  /** Names of a group's members. */
  names(): string[] {
    return [...this.#addresses().keys()];
  }

  /** Returns a member by its path; undefined where there is none. */
  get(path: string): Hdf5Node | undefined {
    const [name, ...rest] = path.split("/");
    const address = this.#addresses().get(name);
    if (address === undefined) return undefined;
    const member = new Hdf5Node(this.#file, address, `${this.path}/${name}`, this.#depth + 1);
    return rest.length > 0 ? member.get(rest.join("/")) : member;
  }

  /** Returns the texts of an attribute; undefined where there is none, or it holds numbers. */
  texts(name: string): string[] | undefined {
    const info = this.#find(ATTRIBUTE_INFO);
    if (info) {
      info.take(info.bytes[info.at + 1] & 1 ? 4 : 2);
      if (info.address() !== null) {
        throw unsupported("an object whose attributes lie in a fractal heap");
      }
    }
    for (const { type, cursor } of this.#messages) {
      if (type !== ATTRIBUTE) continue;
      const at = new Cursor(cursor.bytes, cursor.at), version = at.uint(1);
      if (version < 1 || version > 3) throw damaged(`attribute version ${version} is not known`);
      at.take(1);
      const sizes = [at.uint(2), at.uint(2), at.uint(2)];
      if (version === 3) at.take(1);
      const [title, kind, space] = sizes.map((size) => {
        const part = new Cursor(at.bytes, at.at, at.at + size), from = at.at;
        at.take(size);
        if (version === 1) at.align(from);
        return part;
      });
      if (text(title.take(sizes[0])) !== name) continue;
      const elements = readType(kind), shape = readShape(space);
      const bytes = at.take(shape.reduce((a, b) => a * b, elements.size));
      return readTexts(this.#file.bytes, elements, bytes) ?? undefined;
    }
    return undefined;
  }

  #filters(): number[] {
    const cursor = this.#find(FILTERS);
    if (!cursor) return [];
    const version = cursor.uint(1), count = cursor.uint(1);
    if (version === 1) cursor.take(6);
    return Array.from({ length: count }, () => {
      const id = cursor.uint(2);
      if (![DEFLATE, SHUFFLE, FLETCHER].includes(id)) throw unsupported(`filter ${id}`);
      const name = version === 1 ? cursor.uint(2) : 0;
      cursor.take(2);
      const values = cursor.uint(2);
      cursor.take(8 * Math.ceil(name / 8) + 4 * (version === 1 ? values + values % 2 : values));
      return id;
    });
  }

  #bytes(elements: ElementType, shape: readonly number[]): Uint8Array {
    const layout = this.#find(LAYOUT);
    if (!layout) throw damaged(`array "${this.path}" has no layout`);
    const version = layout.uint(1), kind = layout.uint(1);
    if (version !== 3 && !(version === 4 && kind < 2)) {
      throw unsupported(`layout ${version}.${kind}`);
    }
    const wanted = shape.reduce((a, b) => a * b, elements.size);
    if (kind === 0) return layout.take(layout.uint(2));
    if (kind === 2) return this.#file.chunks(layout, shape, elements.size, this.#filters());
    const address = layout.address(), length = layout.length();
    if (length !== wanted) {
      throw damaged(`array "${this.path}" has ${length} bytes, wanted ${wanted}`);
    }
    return wanted === 0 ? new Uint8Array(0) : this.#file.at(address, length).take(length);
  }

  /** Reads an array. Throws `DataLossError` for a group. */
  array(): NdArray {
    const space = this.#find(SPACE), type = this.#find(TYPE);
    if (!space || !type) throw damaged(`"${this.path}" is no array`);
    const elements = readType(type), shape = readShape(space);
    // Keras marks bfloat16, which HDF5 has not.
    const isBfloat16 = elements.size === 2 && elements.kind === "opaque" &&
      this.texts("dtype")?.[0] === "bfloat16";
    const dtype = isBfloat16 ? "bfloat16" : elements.dtype;
    if (dtype === null || DTYPES[dtype].bytes !== elements.size) {
      throw unsupported(`an array of ${elements.kind} elements`);
    }
    return arrayFromBytes(dtype, shape, this.#bytes(elements, shape), `"${this.path}" of ${HDF5}`);
  }
}

/**
 * Opens an HDF5 file. Throws `TypeError` unless it is given bytes, `DataLossError` for damage, `UnimplementedError` for features
 * that Keras does not use.
 */
export function openHdf5(bytes: Uint8Array): Hdf5Node {
  checkBytes(bytes, HDF5);
  const file = new File(bytes);
  return new Hdf5Node(file, file.root(), "");
}
