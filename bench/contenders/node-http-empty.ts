/** The floor: the cheapest server that reads the body at all. */
import { createServer } from 'node:http'
import { answersAtOnce, createTally, type Running } from './contender.ts'

export function start(): Running {
  const tally = createTally()
  const server = createServer((request, response) => {
    request.on('data', () => {})
    request.on('end', () => {
      tally.count()
      response.writeHead(204).end()
    })
  })
  return answersAtOnce(server, tally)
}
