/** Disks that fail, simulated through the file system interface; full-disk.test.ts uses real full disks. */
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSpools } from '../../../src/inbox/spool/spool.ts'
import { crashed, emptiedNames, event, events, filesIn, nameOf, segmentFiles, spooling } from './spooling.ts'
import { faultyFs, systemError } from '../../support/faulty-fs.ts'
import { ownFolder } from '../../support/own-folder.ts'

function isSegment(path: string): boolean {
  return path.endsWith('.segment')
}

/** Fails the calls that a test selects, as often as it says. */
function failures() {
  const armed = new Map<string, string[]>()
  const seen: string[] = []
  return {
    seen,
    arm: (method: string, ...codes: string[]) => void armed.set(method, codes),
    check(method: string, path: string): void {
      if (!isSegment(path)) return
      const code = armed.get(method)?.shift()
      seen.push(`${method}${code === undefined ? '' : ` ${code}`} ${path.slice(-24, -17)}`)
      if (code !== undefined) throw systemError(code)
    },
  }
}

async function failing(options: { readonly reserveBytes?: number } = {}) {
  const faults = failures()
  const fs = faultyFs((real, path) => ({
    async write(buffer, offset, length, position) {
      try {
        faults.check('write', path)
      } catch (error) {
        // Writes a part, as on a disk that fills up.
        await real.write(buffer, offset, Math.floor(length / 2), position)
        throw error
      }
      return real.write(buffer, offset, length, position)
    },
    async datasync() {
      faults.check('datasync', path)
      await real.datasync()
    },
    async truncate(length) {
      faults.check('truncate', path)
      await real.truncate(length)
    },
  }))
  return { faults, ...(await spooling({ ...options, fs })) }
}

test('uses the reserve once when the disk is full, and allocates it again when there is room', async () => {
  const { spool, faults, folder, errors } = await failing({ reserveBytes: 100_000 })
  const reserve = () => filesIn(folder).filter((path) => path.endsWith('reserve')).length
  await spool.append(events('a', 2))
  faults.arm('write', 'ENOSPC')
  await spool.append(events('b', 2))
  expect(reserve()).toBe(0)
  expect(statSync(segmentFiles(folder).at(-1) ?? '').size).toBe(100_000)
  await spool.append(events('c', 2))
  expect(errors.map(({ code }) => code)).toEqual(['disk_full'])
  const names = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2']
  const again = await spooling({ folder: await crashed(folder) })
  expect(await emptiedNames(again.spool)).toEqual(names)
  expect(again.errors).toEqual([])
  // The disk stays full: on copy-on-write file systems, truncating frees the rest of the reserve, and then no room is left.
  faults.arm('write', 'ENOSPC', 'ENOSPC')
  await expect(spool.append(events('d', 2))).rejects.toMatchObject({ code: 'spool_full' })
  expect(spool.size).toBe(6)
  expect(await emptiedNames(spool)).toEqual(names)
  expect(reserve()).toBe(1)
})

test('a record that does not fit does not reject the others of its batch', async () => {
  const most = 50_000
  const fs = faultyFs((real, path) => ({
    write(buffer, offset, length, position) {
      if (isSegment(path) && position + length > most) return Promise.reject(systemError('ENOSPC'))
      return real.write(buffer, offset, length, position)
    },
  }))
  const { spool } = await spooling({ fs })
  const results = await Promise.allSettled(
    [...events('a', 5), event('huge', Buffer.alloc(60_000)), ...events('b', 5)].map((one) => spool.append([one])),
  )
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([
    ...Array<boolean>(5).fill(true),
    false,
    ...Array<boolean>(5).fill(true),
  ])
  expect(spool.size).toBe(10)
  expect(await emptiedNames(spool)).toEqual([...events('a', 5), ...events('b', 5)].map(nameOf))
})

test('a file that is removed while it is written accepts no more records', async () => {
  const { spool, folder } = await spooling()
  await spool.append(events('a', 1))
  rmSync(segmentFiles(folder)[0] ?? '')
  await spool.append(events('b', 1))
  expect(segmentFiles(folder).length).toBe(1)
  expect(await emptiedNames(spool)).toEqual(['b1'])
})

test('reports a folder that cannot be used', async () => {
  const parent = ownFolder()
  const file = join(parent, 'file')
  writeFileSync(file, '')
  await expect(spooling({ folder: join(file, 'spool') })).rejects.toThrow('cannot be used. System error: ENOTDIR')
  const fs = faultyFs((_, path) => ({
    datasync: () => (path.endsWith('reserve.new') ? Promise.reject(systemError('EIO')) : Promise.resolve()),
  }))
  const folder = join(parent, 'spool')
  await expect(spooling({ folder, fs, reserveBytes: 1_000 })).rejects.toMatchObject({ code: 'spool_unusable' })
})

test('on a full disk a thousand appends at once are refused with few tries', async () => {
  let tries = 0
  const fs = faultyFs((real, path) => ({
    write(...args) {
      if (!isSegment(path)) return real.write(...args)
      tries += 1
      return Promise.reject(systemError('ENOSPC'))
    },
  }))
  const { spool } = await spooling({ fs })
  const results = await Promise.allSettled(events('e', 1_000).map((one) => spool.append([one])))
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(spool.size).toBe(0)
  expect(tries).toBeLessThan(50)
})

test('refuses what is too large for any file, and leaves a file that accepts no byte', async () => {
  const { spool, faults } = await failing()
  faults.arm('write', 'EFBIG', 'EFBIG')
  await expect(spool.append(events('a', 1))).rejects.toMatchObject({ code: 'spool_full' })
  let stuck = true
  const fs = faultyFs((real, path) => ({
    write(...args) {
      if (!stuck || !isSegment(path)) return real.write(...args)
      stuck = false
      return Promise.resolve({ bytesWritten: 0 })
    },
  }))
  const other = await spooling({ fs })
  await other.spool.append(events('b', 2))
  expect(segmentFiles(other.folder).length).toBe(1)
  expect(await emptiedNames(other.spool)).toEqual(['b1', 'b2'])
})

test('splits more than one write can take into several, in the order of the appends', async () => {
  const { spool, faults } = await failing()
  const names = Array.from({ length: 12 }, (_, at) => `e${at}`)
  await Promise.all(names.map((name) => spool.append([event(name, Buffer.alloc(1_000_000))])))
  expect(faults.seen.filter((call) => call.startsWith('datasync')).length).toBe(3)
  expect(await emptiedNames(spool)).toEqual(names)
})

test('if only the folder for refused events cannot be used, nothing stays locked, and the next try works', async () => {
  const folder = ownFolder()
  const blocked = join(folder, 'refused')
  writeFileSync(blocked, '')
  await expect(openSpools(folder, () => {})).rejects.toMatchObject({ code: 'spool_unusable' })
  rmSync(blocked)
  const { outage, aside } = await openSpools(folder, () => {})
  await outage.append([event('e')])
  await outage.close()
  await aside.close()
  const again = await openSpools(folder, () => {})
  expect(again.outage.size).toBe(1)
  await again.outage.close()
  await again.aside.close()
})
