/** Fills the spool in the folder of its first argument with this many records, opens it again, drains it, prints figures. */
import { openSpool } from '../../../../src/inbox/spool/spool.ts'
import { sample } from '../../../../src/store-conformance/samples.ts'

const [folder = '', records = ''] = process.argv.slice(2)
const options = { folder, reserveBytes: 0, report: (error: Error) => console.error(error) }

const writing = await openSpool(options)
for (let at = 0; at < Number(records); at += 1_000) {
  const batch = Array.from({ length: 1_000 }, (_, index) => {
    const name = `e${at + index}`
    return sample({ message: name, name, raw: Buffer.alloc(300, name) })
  })
  await writing.append(batch)
}
const { bytes } = writing
await writing.close()

const heldBeforeMb = heldMb()
const spool = await openSpool(options)
let mostHeldMb = heldMb()
let drained = 0
let batches = 0
let longestBatch = 0
await spool.empty(async (events) => {
  drained += events.length
  longestBatch = Math.max(longestBatch, events.length)
  batches += 1
  if (batches % 50 === 0) mostHeldMb = Math.max(mostHeldMb, heldMb())
})
await spool.close()
console.log(JSON.stringify({ drained, bytes, heldBeforeMb, mostHeldMb, longestBatch }))

/** The memory in use after garbage collection. */
function heldMb(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return Math.round((heapUsed + external) / 1e6)
}
