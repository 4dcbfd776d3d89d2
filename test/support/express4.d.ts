/** Express 4 beside 5, under another name; what the tests use of it has the same types. */
declare module 'express4' {
  export { default } from 'express'
}
