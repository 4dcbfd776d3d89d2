import express from 'express'
import type { Contender } from './contender.ts'
import { receiverContender } from './receiver.ts'

export function receiverInExpress(): Contender {
  return receiverContender('the receiver in Express', (middleware) => {
    const app = express()
    app.use('/', middleware)
    return app
  })
}
