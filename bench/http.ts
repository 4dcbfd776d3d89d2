/** `npm run bench`: what does it cost to take a callback over HTTP, beside answering it from an empty Express route? */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { emptyExpressRoute } from './contenders/empty-express-route.ts'
import type { Contender } from './contenders/contender.ts'
import { receiverInExpress } from './contenders/receiver-in-express.ts'
import { receiverInNodeHttp } from './contenders/receiver-in-node-http.ts'
import { receiverOnSqlite } from './contenders/receiver-on-sqlite.ts'
import { startLoad } from './load/load.ts'
import { ratioOf } from './ratios.ts'

const WARM_UP_ROUNDS = 2
const ROUNDS = Number(process.env['ROUNDS'] ?? 15)
const CALLBACKS_A_ROUND = 5_000
const CONNECTIONS = 32

const base = emptyExpressRoute()
const inMemory = receiverInNodeHttp()
const onSqlite = receiverOnSqlite()
const others = [receiverInExpress(), inMemory, onSqlite]
const entrants = await Promise.all(
  [base, ...others].map(async (contender) => {
    await once(contender.server.listen(0, '127.0.0.1'), 'listening')
    const { port } = contender.server.address() as AddressInfo
    const times: number[] = []
    return { contender, port, times }
  }),
)

const load = startLoad()
for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
  await load.make(CALLBACKS_A_ROUND)
  // Each goes first in turn, so that none always meets the machine as another has left it.
  const first = round % entrants.length
  for (const { contender, port, times } of [...entrants.slice(first), ...entrants.slice(0, first)]) {
    const seconds = await load.sendTo(port, CONNECTIONS)
    await contender.verify(CALLBACKS_A_ROUND * (round + 1))
    if (round >= WARM_UP_ROUNDS) times.push(seconds)
  }
}
load.stop()

const [{ times: baseTimes } = { times: [] }] = entrants
console.log(
  `Callbacks a second, as a ratio to ${base.name}: the median of ${ROUNDS} rounds (least to most).\n` +
    `${CALLBACKS_A_ROUND} distinct signed callbacks a round, ${CONNECTIONS} connections, Node ${process.version}.\n`,
)
for (const { contender, times } of entrants.slice(1)) {
  const { median, least, most } = ratioOf(baseTimes, times)
  console.log(`  ${contender.name.padEnd(28)}${median.toFixed(2)}   (${least.toFixed(2)} to ${most.toFixed(2)})`)
}
const timesOf = (wanted: Contender): readonly number[] =>
  entrants.find(({ contender }) => contender === wanted)?.times ?? []
const durable = ratioOf(timesOf(inMemory), timesOf(onSqlite))
console.log(
  `\nSQLite beside memory, both in node:http: ${durable.median.toFixed(2)}   ` +
    `(${durable.least.toFixed(2)} to ${durable.most.toFixed(2)})`,
)
for (const { contender } of entrants) {
  contender.server.close()
  await contender.close()
}
