/** Disks that are really full: a small tmpfs, or where that may not be mounted, a limit on the size of files. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../../support/program.ts'
import { crashed, emptiedNames, largeEvent, segmentFiles, spooling } from './spooling.ts'
import { ownFolder } from '../../support/own-folder.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** Mounts a disk of that size until the test ends. */
function mounted(kind: Disk, bytes: number): string {
  const folder = ownFolder()
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  mount(kind, bytes, folder, disk)
  onTestFinished(() => void execFileSync('umount', ['-l', disk]))
  return disk
}

type Disk = 'tmpfs' | 'ext4'

function mount(kind: Disk, bytes: number, folder: string, disk: string): void {
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'pipe' })
  if (kind === 'tmpfs') run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', disk)
  else {
    const image = join(folder, 'image')
    writeFileSync(image, '')
    truncateSync(image, bytes)
    run('mkfs.ext4', '-q', '-m', '0', image)
    run('mount', '-o', 'loop', image, disk)
  }
}

/** A test that needs such a disk; where none can be had, it is skipped and says why. */
function onDisk(kind: Disk, name: string, work: (mountDisk: (bytes: number) => string) => Promise<void>): void {
  const reason = whyNo(kind)
  if (reason === undefined) test(`${kind}: ${name}`, () => work((bytes) => mounted(kind, bytes)))
  else {
    test.skip(`${kind}: ${name} (${reason})`)
  }
}

function whyNo(kind: Disk): string | undefined {
  if (process.platform !== 'linux') return 'this is no Linux'
  if (process.getuid?.() !== 0) return 'only root may mount'
  const folder = mkdtempSync(join(tmpdir(), 'spool-probe-'))
  const disk = join(folder, 'disk')
  try {
    mkdirSync(disk)
    mount(kind, 4 * MIB, folder, disk)
    execFileSync('umount', [disk], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `mounting failed (${error instanceof Error ? error.message.split('\n').join(' ') : 'unknown'})`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

onDisk(
  'tmpfs',
  'on a full disk the reserve takes records, then appends are rejected, and nothing taken is lost',
  async (mountDisk) => {
    const disk = mountDisk(4 * MIB)
    const folder = join(disk, 'spool')
    const { spool, errors } = await spooling({ folder, reserveBytes: MIB })
    const kept: string[] = []
    const events = Array.from({ length: 100 }, (_, at) => largeEvent(`e${at}`, 100 * KIB))
    for (const one of events) {
      const [result] = await Promise.allSettled([spool.append([one])])
      if (result.status === 'fulfilled') kept.push(one.record.report?.status ?? '')
      else expect(result.reason).toMatchObject({ code: 'spool_full' })
    }
    expect(errors.map(({ code }) => code)).toEqual(['disk_full'])
    // All but what is left of the last page, file names and the like.
    expect(spool.bytes).toBeGreaterThan(3.7 * MIB)
    expect(statfsSync(disk).bavail * statfsSync(disk).bsize).toBeLessThan(100 * KIB)
    const again = await spooling({ folder: await crashed(folder) })
    expect(await emptiedNames(again.spool)).toEqual(kept)
    expect(again.errors).toEqual([])
    expect(await emptiedNames(spool)).toEqual(kept)
    await spool.append(events.slice(0, 5))
    expect(await emptiedNames(spool)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4'])
  },
)

onDisk('tmpfs', 'others that fill the disk do not get the reserve', async (mountDisk) => {
  const disk = mountDisk(2 * MIB)
  const { spool, errors } = await spooling({ folder: join(disk, 'spool'), reserveBytes: MIB })
  const fill = (): void => {
    for (let at = 0; ; at += 1) writeFileSync(join(disk, `log-${at}`), Buffer.alloc(4 * KIB))
  }
  expect(fill).toThrow('ENOSPC')
  const names: string[] = []
  for (let at = 0; at < 9; at += 1) {
    await spool.append([largeEvent(`e${at}`, 100 * KIB)])
    names.push(`e${at}`)
    expect(() => writeFileSync(join(disk, 'more'), Buffer.alloc(4 * KIB))).toThrow('ENOSPC')
  }
  expect(errors.map(({ code }) => code)).toEqual(['disk_full'])
  expect(await emptiedNames(spool)).toEqual(names)
})

onDisk(
  'tmpfs',
  'on a disk that is full at the start, a reserve that was left is taken over, else that is said',
  async (mountDisk) => {
    const disk = mountDisk(2 * MIB)
    const folder = join(disk, 'spool')
    const before = await spooling({ folder, reserveBytes: MIB })
    await before.spool.close()
    const filler = join(disk, 'log')
    expect(() => writeFileSync(filler, Buffer.alloc(2 * MIB))).toThrow('ENOSPC')
    const { spool, errors } = await spooling({ folder, reserveBytes: MIB })
    expect(errors).toEqual([])
    await spool.append([largeEvent('e', 500 * KIB)])
    await spool.close()
    const after = await spooling({ folder, reserveBytes: MIB })
    expect(after.errors.map(({ code }) => code)).toEqual(['disk_full'])
    expect(await emptiedNames(after.spool)).toEqual(['e'])
    rmSync(filler)
  },
)

onDisk('tmpfs', 'a short write on a full disk is cut off', async (mountDisk) => {
  const disk = mountDisk(MIB)
  const { spool, folder } = await spooling({ folder: join(disk, 'spool') })
  await spool.append([largeEvent('a', 100 * KIB)])
  await expect(spool.append([largeEvent('b', 3 * MIB)])).rejects.toMatchObject({ code: 'spool_full' })
  expect(spool.size).toBe(1)
  await spool.append([largeEvent('c', 100 * KIB)])
  expect(segmentFiles(folder).length).toBe(1)
  const again = await spooling({ folder: await crashed(folder) })
  expect(await emptiedNames(again.spool)).toEqual(['a', 'c'])
  expect(again.errors).toEqual([])
})

onDisk('ext4', 'a restart on a disk without a single free block finds the reserve and uses it', async (mountDisk) => {
  const disk = mountDisk(16 * MIB)
  const folder = join(disk, 'spool')
  const before = await spooling({ folder, reserveBytes: 2 * MIB })
  expect(() => {
    for (const bytes of [64 * KIB, 1])
      try {
        for (;;) appendFileSync(join(disk, 'log'), Buffer.alloc(bytes))
      } catch (error) {
        if (bytes === 1) throw error
      }
  }).toThrow('ENOSPC')
  await before.spool.close()
  expect(() => mkdirSync(join(disk, 'folder'))).toThrow('ENOSPC')
  const { spool, errors } = await spooling({ folder, reserveBytes: 2 * MIB })
  const names = Array.from({ length: 19 }, (_, at) => `e${at}`)
  for (const name of names) await spool.append([largeEvent(name, 100 * KIB)])
  expect(errors.map(({ code }) => code)).toEqual(['disk_full'])
  expect(await emptiedNames(spool)).toEqual(names)
  await spool.close()
})

test('a limit on the size of files ends a file, not the spool', async () => {
  const folder = ownFolder()
  // 2,048 blocks of 512 or 1,024 bytes, as the shell counts them.
  const script = `ulimit -f 2048 && trap '' XFSZ && exec "$0" "$1" "$2"`
  const program = join(import.meta.dirname, 'programs', 'append-large.ts')
  const { stdout, stderr } = await runProgram('/bin/sh', ['-c', script, process.execPath, program, folder])
  expect(stderr).not.toContain('Error')
  const { kept, codes } = JSON.parse(stdout) as { readonly kept: readonly string[]; readonly codes: readonly string[] }
  expect(kept.length).toBe(30)
  // It was too large for any file.
  expect(codes).toEqual(['spool_full'])
  expect(segmentFiles(folder).length).toBeGreaterThan(1)
  const { spool, errors } = await spooling({ folder })
  expect(await emptiedNames(spool)).toEqual(kept)
  expect(errors).toEqual([])
})
