/** Disks of a given size, for tests about full disks. Requires root on Linux. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'

const KIB = 1024

type Kind = 'tmpfs' | 'ext4'

/** Mounts `disk`, a folder in this one. */
function mount(kind: Kind, bytes: number, folder: string): string {
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'pipe' })
  if (kind === 'tmpfs') run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', disk)
  else {
    const image = join(folder, 'image')
    writeFileSync(image, '')
    truncateSync(image, bytes)
    run('mkfs.ext4', '-q', '-m', '0', image)
    run('mount', '-o', 'loop', image, disk)
  }
  return disk
}

function whyNo(kind: Kind): string | undefined {
  if (process.platform !== 'linux') return 'this system is not Linux'
  if (process.getuid?.() !== 0) return 'only root may mount'
  const folder = mkdtempSync(join(tmpdir(), 'disk-probe-'))
  try {
    execFileSync('umount', [mount(kind, 4096 * KIB, folder)], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `mounting failed (${error instanceof Error ? error.message.split('\n').join(' ') : 'unknown'})`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A test that needs a small disk; skipped with a reason if no disk can be made. */
export function onSmallDisk(
  name: string,
  timeoutMs: number,
  work: (mountDisk: (bytes: number) => string) => Promise<void>,
  kind: Kind = 'tmpfs',
): void {
  const reason = whyNo(kind)
  if (reason === undefined) test(name, { timeout: timeoutMs }, () => work((bytes) => smallDisk(kind, bytes)))
  else {
    test.skip(`${name} (${reason})`)
  }
}

function smallDisk(kind: Kind, bytes: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  const disk = mount(kind, bytes, folder)
  onTestFinished(() => {
    execFileSync('umount', ['-l', disk])
    rmSync(folder, { recursive: true, force: true })
  })
  return disk
}

/** Writes a file until the disk is full; returns a function that frees the space. */
export function fill(disk: string): () => void {
  const path = join(disk, 'filler')
  const file = openSync(path, 'w')
  try {
    for (const size of [256 * KIB, 4 * KIB])
      try {
        for (;;) writeSync(file, Buffer.alloc(size))
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return () => rmSync(path)
}
