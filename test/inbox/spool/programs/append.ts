/**
 * Appends to the folder of its first argument until it is killed, with several appends in flight, and prints the name of
 * each record when its append was acknowledged. The names begin with the second argument; a third one sets the number of
 * records, after which it idles.
 */
import { writeSync } from 'node:fs'
import { openSpool } from '../../../../src/inbox/spool/spool.ts'
import { sample } from '../../../../src/store-conformance/samples.ts'

const [folder = '', prefix = '', most = 'Infinity'] = process.argv.slice(2)
const SIDES = 8
const spool = await openSpool({ folder, reserveBytes: 65_536, segmentBytes: 100_000, report: () => {} })
let count = 0
writeSync(1, 'ready\n')

async function appendOn(): Promise<void> {
  while (count < Number(most)) {
    const batch = Array.from({ length: 1 + (count % 3) }, () => {
      count += 1
      const name = `${prefix}${count}`
      return sample({ message: name, name, raw: Buffer.alloc(count % 5_000, name) })
    })
    await spool.append(batch)
    writeSync(1, batch.map(({ record }) => `${record.report?.status ?? ''}\n`).join(''))
  }
}

await Promise.all(Array.from({ length: SIDES }, appendOn))
writeSync(1, 'done\n')
setInterval(() => {}, 60_000)
