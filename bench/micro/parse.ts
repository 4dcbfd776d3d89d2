import { eachInTurn, readBytes } from './samples.ts'
import type { Step } from './step.ts'

export const parse: Step = {
  what: 'bytes to fields: one scan, JSON.parse',
  prepare: () =>
    eachInTurn(({ bytes }) => {
      const { fields } = readBytes(bytes)
      if (fields === undefined) throw new Error('A good body was not parsed.')
      return fields
    }),
}
