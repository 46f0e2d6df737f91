package main

import (
	"errors"
	"strconv"
	"strings"
)

// A percent is a flag.Value: a part of a whole, written as 25%.
type percent float64

func (p *percent) Set(text string) error {
	number, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(n >= 0 && n <= 100) {
		return errors.New("give a percentage from 0% to 100%, such as 25%")
	}
	*p = percent(n / 100)
	return nil
}

func (p *percent) String() string { return strconv.FormatFloat(float64(*p)*100, 'g', -1, 64) + "%" }
