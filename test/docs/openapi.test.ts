/** `openapi.json` is what the schemas make, and valid OpenAPI. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { readProjectFile } from '../../docs/markdown.ts'
import { OPENAPI_FILE, openApiText } from '../../docs/openapi.ts'

test('openapi.json is what `npm run docs:tables` writes', async () => {
  expect(readProjectFile(OPENAPI_FILE)).toBe(await openApiText())
})

test('openapi.json is valid OpenAPI 3.1', async () => {
  const document = JSON.parse(readProjectFile(OPENAPI_FILE)) as { readonly openapi: string }
  const { valid, errors } = await new Validator().validate(document)
  expect(errors).toBeUndefined()
  expect([valid, document.openapi.slice(0, 3)]).toEqual([true, '3.1'])
  expect((await new Validator().validate({ ...document, paths: { send: {} } })).valid).toBe(false)
})
