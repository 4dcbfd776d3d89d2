/**
 * A machine's disk that keeps only synced data when the power fails: unsynced data is lost, in
 * part or completely, both file contents and folder entries. A killed process leaves everything as it is.
 */
import { basename, dirname } from 'node:path'
import type { FileSystem, OpenedFile } from '../../src/disk-log/file-system.ts'
import { between, oneOf, wholeBetween, type Random } from './random.ts'
import type { Owner, Timeline } from './timeline.ts'

interface FileNode {
  readonly kind: 'file'
  bytes: Buffer
  /** The content after a power failure now, except for `pending`. */
  synced: Buffer
  pending: (Write & { lost: boolean })[]
  links: number
}

interface FolderNode {
  readonly kind: 'folder'
  readonly entries: Map<string, Node>
  readonly synced: Map<string, Node>
}

/** The lock is held while its owner is alive. */
interface LockNode {
  readonly kind: 'lock'
  holder: Owner | undefined
}

type Node = FileNode | FolderNode | LockNode

type Write = { readonly at: number; readonly bytes: Buffer } | { readonly length: number }

/** An entry that was created, removed or moved, atomically. */
interface Change {
  readonly sets: readonly { readonly folder: FolderNode; readonly name: string; readonly node: Node | undefined }[]
}

export type DiskFault = 'none' | 'full' | 'failing'

export interface Disk {
  /** The disk as one process sees it; a call takes effect a moment later, if the process is alive then. */
  forProcess(owner: Owner, random: Random): FileSystem
  fault: DiskFault
  /** All processes on this disk must be dead. */
  losePower(random: Random): void
  /** For checks from outside. */
  files(): readonly string[]
}

const FREE_BYTES_WHEN_FULL = 600

export function createDisk(timeline: Timeline): Disk {
  const root = newFolder()
  let changes: Change[] = []
  let fault: DiskFault = 'none'
  let freeBytes = Infinity

  function find(path: string): Node {
    let node: Node = root
    for (const name of path.split('/').filter((part) => part !== '')) {
      const inside: Node | undefined = node.kind === 'folder' ? node.entries.get(name) : undefined
      if (inside === undefined) throw systemError('ENOENT')
      node = inside
    }
    return node
  }

  function findFolder(path: string): FolderNode {
    const node = find(path)
    if (node.kind !== 'folder') throw systemError('ENOTDIR')
    return node
  }

  function findFile(path: string): FileNode {
    const node = find(path)
    if (node.kind !== 'file') throw systemError('EISDIR')
    return node
  }

  function place(path: string) {
    return { folder: findFolder(dirname(path)), name: basename(path) }
  }

  function change(...sets: Change['sets']): void {
    for (const { folder, name, node } of sets) setEntry(folder.entries, name, node)
    changes.push({ sets })
  }

  /** Makes the changes of the folder durable, including the changes that they depend on. */
  function syncFolder(folder: FolderNode): void {
    const wanted = new Set<string>()
    const ids = new Map<FolderNode, number>()
    const key = (of: FolderNode, name: string): string => {
      const id = ids.get(of) ?? ids.size
      ids.set(of, id)
      return `${id}/${name}`
    }
    const kept: Change[] = []
    const lasting: Change[] = []
    for (const one of changes.toReversed()) {
      const isWanted = one.sets.some(({ folder: of, name }) => of === folder || wanted.has(key(of, name)))
      if (isWanted) {
        for (const { folder: of, name } of one.sets) wanted.add(key(of, name))
        lasting.unshift(one)
      } else kept.unshift(one)
    }
    for (const { sets } of lasting) for (const { folder: of, name, node } of sets) setEntry(of.synced, name, node)
    changes = kept
  }

  function grow(file: FileNode, size: number): void {
    if (size <= file.bytes.length) return
    file.bytes = Buffer.concat([file.bytes, Buffer.alloc(size - file.bytes.length)])
  }

  function write(file: FileNode, bytes: Uint8Array, at: number, random: Random): number {
    if (fault === 'failing' && random() < 0.5) throw systemError('EIO')
    const more = Math.max(0, at + bytes.length - file.bytes.length)
    const most = more > freeBytes ? bytes.length - (more - freeBytes) : bytes.length
    if (most <= 0) throw systemError('ENOSPC')
    const length = random() < 0.05 ? wholeBetween(random, 1, most) : most
    const written = Buffer.from(bytes.subarray(0, length))
    freeBytes -= Math.max(0, at + length - file.bytes.length)
    grow(file, at + length)
    written.copy(file.bytes, at)
    file.pending.push({ at, bytes: written, lost: false })
    return length
  }

  function truncate(file: FileNode, length: number): void {
    freeBytes += Math.max(0, file.bytes.length - length)
    grow(file, length)
    file.bytes = Buffer.from(file.bytes.subarray(0, length))
    file.pending.push({ length, lost: false })
  }

  function sync(file: FileNode, random: Random): void {
    if (fault === 'failing' && random() < 0.5) {
      // The system forgets that these pages are unwritten, so the next call succeeds without them.
      for (const one of file.pending) one.lost = true
      throw systemError('EIO')
    }
    for (const one of file.pending) if (!one.lost) file.synced = applied(file.synced, one)
    file.pending = file.pending.filter(({ lost }) => lost)
  }

  function opened(file: FileNode, ask: <T>(what: string, work: () => T) => Promise<T>, random: Random): OpenedFile {
    return {
      read: (buffer, offset, length, position) =>
        ask('read', () => {
          const bytesRead = file.bytes.copy(buffer, offset, position, Math.min(position + length, file.bytes.length))
          return { bytesRead }
        }),
      write: (buffer, offset, length, position) => {
        const bytes = Buffer.from(buffer.subarray(offset, offset + length))
        return ask('write', () => ({ bytesWritten: write(file, bytes, position, random) }))
      },
      datasync: () => ask('datasync', () => sync(file, random)),
      sync: () => ask('sync', () => sync(file, random)),
      stat: () => ask('fstat', () => ({ size: file.bytes.length, nlink: file.links })),
      truncate: (length) => ask('ftruncate', () => truncate(file, length)),
      close: () => ask('close', () => {}),
    }
  }

  function openedFolder(folder: FolderNode, ask: <T>(what: string, work: () => T) => Promise<T>): OpenedFile {
    const never = (): Promise<never> => Promise.reject(systemError('EISDIR'))
    const sync = (): Promise<void> => ask('sync folder', () => syncFolder(folder))
    const stat = () => ask('fstat', () => ({ size: 0, nlink: 2 }))
    return {
      read: never,
      write: never,
      truncate: never,
      datasync: sync,
      sync,
      stat,
      close: () => ask('close', () => {}),
    }
  }

  function remove(path: string, recursive: boolean): void {
    const { folder, name } = place(path)
    const node = folder.entries.get(name)
    if (node === undefined) return
    if (node.kind === 'folder') {
      if (!recursive) throw systemError('EISDIR')
      for (const inside of [...node.entries.keys()]) remove(`${path}/${inside}`, true)
    }
    if (node.kind === 'file') {
      node.links -= 1
      freeBytes += node.bytes.length
    }
    change({ folder, name, node: undefined })
  }

  function makeFolder(path: string, recursive: boolean): string | undefined {
    if (path === '/' || path === '.') return undefined
    let first: string | undefined
    if (recursive) first = makeFolder(dirname(path), true)
    const { folder, name } = place(path)
    if (folder.entries.has(name)) {
      if (recursive) return first
      throw systemError('EEXIST')
    }
    if (freeBytes <= 0) throw systemError('ENOSPC')
    change({ folder, name, node: newFolder() })
    return first ?? path
  }

  function rename(from: string, to: string): void {
    const source = place(from)
    const target = place(to)
    const node = source.folder.entries.get(source.name)
    if (node === undefined) throw systemError('ENOENT')
    const replaced = target.folder.entries.get(target.name)
    if (replaced?.kind === 'folder' && replaced.entries.size > 0) throw systemError('ENOTEMPTY')
    if (replaced?.kind === 'file') {
      replaced.links -= 1
      freeBytes += replaced.bytes.length
    }
    change({ ...source, node: undefined }, { ...target, node })
  }

  function open(path: string, flags: 'r' | 'r+' | 'wx'): FileNode | FolderNode {
    if (flags === 'wx') {
      const { folder, name } = place(path)
      if (folder.entries.has(name)) throw systemError('EEXIST')
      const file: FileNode = { kind: 'file', bytes: NOTHING, synced: NOTHING, pending: [], links: 1 }
      change({ folder, name, node: file })
      return file
    }
    const node = find(path)
    if (node.kind === 'lock') throw systemError('ENXIO')
    return node
  }

  return {
    get fault() {
      return fault
    },
    set fault(next) {
      fault = next
      freeBytes = next === 'full' ? FREE_BYTES_WHEN_FULL : Infinity
    },
    files() {
      const found: string[] = []
      const look = (folder: FolderNode, path: string): void => {
        for (const [name, node] of folder.entries)
          if (node.kind === 'folder') look(node, `${path}/${name}`)
          else if (node.kind === 'file') found.push(`${path}/${name}`)
      }
      look(root, '')
      return found
    },
    losePower(random) {
      // Either keeps changes in order up to a random one, or each independently if everything it depends on is kept.
      const isInOrder = random() < 0.5
      const upTo = wholeBetween(random, 0, changes.length)
      const dropped = new Map<FolderNode, Set<string>>()
      for (const [index, { sets }] of changes.entries()) {
        const isBroken = sets.some(({ folder, name }) => dropped.get(folder)?.has(name) === true)
        const isKept = !isBroken && (isInOrder ? index < upTo : random() < 0.5)
        for (const { folder, name, node } of sets)
          if (isKept) setEntry(folder.synced, name, node)
          else dropped.set(folder, (dropped.get(folder) ?? new Set()).add(name))
      }
      changes = []
      const seen = new Set<Node>()
      const settle = (node: Node): void => {
        if (seen.has(node)) return
        seen.add(node)
        if (node.kind === 'file') loseUnsynced(node, random)
        if (node.kind !== 'folder') return
        node.entries.clear()
        for (const [name, inside] of node.synced) {
          node.entries.set(name, inside)
          settle(inside)
        }
      }
      settle(root)
    },
    forProcess(owner, random) {
      function ask<T>(what: string, work: () => T): Promise<T> {
        return new Promise((resolve, reject) => {
          const latencyMs = random() < 0.02 ? between(random, 5, 200) : between(random, 0.05, 2)
          timeline.after(latencyMs, owner, what, () => {
            try {
              resolve(work())
            } catch (error) {
              reject(error instanceof Error ? error : new Error('not an error'))
            }
          })
        })
      }
      return {
        open: (path, flags) =>
          ask('open', () => {
            if (flags === 'wx' && fault === 'failing' && random() < 0.3) throw systemError('EIO')
            const node = open(path, flags)
            return node.kind === 'file' ? opened(node, ask, random) : openedFolder(node, ask)
          }),
        // In arbitrary order; callers must not rely on it.
        readdir: (path) => ask('readdir', () => shuffled([...findFolder(path).entries.keys()], random)),
        foldersIn: (path) =>
          ask('foldersIn', () => {
            const entries = [...findFolder(path).entries].filter(([, node]) => node.kind === 'folder')
            return shuffled(
              entries.map(([name]) => name),
              random,
            )
          }),
        mkdir: (path, { recursive = false }) => ask('mkdir', () => makeFolder(path, recursive)),
        rename: (from, to) => ask('rename', () => rename(from, to)),
        rm: (path, { recursive = false }) =>
          ask('rm', () => {
            try {
              remove(path, recursive)
            } catch (error) {
              if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
            }
          }),
        rmdir: (path) =>
          ask('rmdir', () => {
            if (findFolder(path).entries.size > 0) throw systemError('ENOTEMPTY')
            const { folder, name } = place(path)
            change({ folder, name, node: undefined })
          }),
        stat: (path) =>
          ask('stat', () => {
            const node = find(path)
            return { size: node.kind === 'file' ? node.bytes.length : 0 }
          }),
        truncate: (path, length) => ask('truncate', () => truncate(findFile(path), length)),
        holdLock: (path) =>
          ask('lock', () => {
            const folder = findFolder(path)
            if (folder.entries.has('lock')) throw systemError('EADDRINUSE')
            const lock: LockNode = { kind: 'lock', holder: owner }
            change({ folder, name: 'lock', node: lock })
            return {
              release: () =>
                ask('unlock', () => {
                  lock.holder = undefined
                }),
            }
          }),
        isHeld: (path) =>
          ask('look at lock', () => {
            try {
              const lock = findFolder(path).entries.get('lock')
              return lock?.kind === 'lock' && lock.holder?.alive === true
            } catch {
              return false
            }
          }),
      }
    },
  }
}

const NOTHING = Buffer.alloc(0)

function newFolder(): FolderNode {
  return { kind: 'folder', entries: new Map(), synced: new Map() }
}

function setEntry(entries: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node === undefined) entries.delete(name)
  else entries.set(name, node)
}

function applied(bytes: Buffer, write: Write): Buffer {
  if ('length' in write) {
    const cut = Buffer.alloc(write.length)
    bytes.copy(cut)
    return cut
  }
  const next = Buffer.alloc(Math.max(bytes.length, write.at + write.bytes.length))
  bytes.copy(next)
  write.bytes.copy(next, write.at)
  return next
}

/** All, a part or none of each unsynced write has reached the disk. */
function loseUnsynced(file: FileNode, random: Random): void {
  for (const one of file.pending) {
    const fate = one.lost ? 'none' : oneOf(random, ['all', 'part', 'none'])
    if (fate === 'all' || (fate === 'part' && 'length' in one)) file.synced = applied(file.synced, one)
    else if (fate === 'part' && 'at' in one) {
      const part = one.bytes.subarray(0, wholeBetween(random, 0, one.bytes.length))
      file.synced = applied(file.synced, { at: one.at, bytes: part })
    }
  }
  file.pending = []
  file.bytes = file.synced
}

function shuffled(names: string[], random: Random): readonly string[] {
  // The names are random: even their sort order differs between two runs.
  for (let at = names.length - 1; at > 0; at -= 1) {
    const other = wholeBetween(random, 0, at)
    const [a, b] = [names[at], names[other]]
    if (a !== undefined && b !== undefined) [names[at], names[other]] = [b, a]
  }
  return names
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: of the simulated disk`), { code })
}
