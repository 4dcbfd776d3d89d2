/** Really full disks: a small tmpfs, or a limit on the size of files if mounting is not allowed. */
import { appendFileSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../../support/program.ts'
import { onSmallDisk } from '../../support/small-disk.ts'
import { crashed, emptiedNames, largeEvent, segmentFiles, spooling } from './spooling.ts'
import { ownFolder } from '../../support/own-folder.ts'

const KIB = 1024
const MIB = 1024 * KIB

const TIMEOUT_MS = 60_000

onSmallDisk(
  'on a full disk the reserve accepts records, then appends are rejected, and nothing accepted is lost',
  TIMEOUT_MS,
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
    // Everything except the rest of the last page, file names and the like.
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

onSmallDisk('others that fill the disk do not get the reserve', TIMEOUT_MS, async (mountDisk) => {
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

onSmallDisk(
  'adopts an existing reserve on a disk that is full at the start, or reports that there is none',
  TIMEOUT_MS,
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

onSmallDisk('a short write on a full disk is cut off', TIMEOUT_MS, async (mountDisk) => {
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

onSmallDisk(
  'a restart on a disk without a single free block finds the reserve and uses it',
  TIMEOUT_MS,
  async (mountDisk) => {
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
  },
  'ext4',
)

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
