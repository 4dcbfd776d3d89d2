/** Appends 30 records of 300 KB and one of 10 MB to the folder of its argument; prints the results. */
import { openSpool } from '../../../../src/inbox/spool/spool.ts'
import { MessagingWebhooksError } from '../../../../src/public/errors.ts'
import { sample } from '../../../../src/store-conformance/samples.ts'

const [folder = ''] = process.argv.slice(2)
const spool = await openSpool({ folder, reserveBytes: 0, report: () => {} })
const kept: string[] = []
const codes: string[] = []
for (let at = 0; at < 31; at += 1) {
  const name = `e${at}`
  try {
    await spool.append([sample({ message: name, name, raw: Buffer.alloc(at === 15 ? 10_000_000 : 300_000, name) })])
    kept.push(name)
  } catch (error) {
    codes.push(error instanceof MessagingWebhooksError ? error.code : 'unknown')
  }
}
await spool.close()
console.log(JSON.stringify({ kept, codes }))
