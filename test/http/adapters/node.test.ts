/** The middleware itself passes the cases of every adapter. */
import express from 'express'
import { adapterCases } from './cases.ts'
import { onNode } from './on-node.ts'

adapterCases('node:http', {
  start: onNode((receiver) => receiver.middleware('status')),
  parser: {
    start: onNode((receiver) => {
      const middleware = receiver.middleware('status')
      return (request, response) => void request.resume().once('end', () => middleware(request, response))
    }),
    code: 'body_already_read',
    says: 'Mount the receiver before anything that reads the body.',
  },
})

adapterCases('Express 5', {
  start: onNode((receiver) => express().use('/webhooks/status', receiver.middleware('status'))),
  parser: {
    start: onNode((receiver) => express().use(express.json(), receiver.middleware('status'))),
    code: 'body_already_parsed',
    says: 'before express.json()',
  },
})
