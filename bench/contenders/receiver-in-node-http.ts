import type { Contender } from './contender.ts'
import { receiverContender } from './receiver.ts'

export function receiverInNodeHttp(): Contender {
  return receiverContender('the receiver in node:http', (middleware) => (request, response) => {
    middleware(request, response)
  })
}
