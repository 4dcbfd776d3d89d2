/** The limit for verified work: the minimum that verifies a callback and reads its fields. */
import { createServer } from 'node:http'
import { verifyByHand } from './by-hand.ts'
import { answersAtOnce, createTally, type Running } from './contender.ts'

export function start(): Running {
  const tally = createTally()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const report = verifyByHand(Buffer.concat(chunks), request.headers['x-service-signature'])
      if (report !== undefined) tally.count()
      response.writeHead(report === undefined ? 401 : 204).end()
    })
  })
  return answersAtOnce(server, tally)
}
